"""Processes, threads, kills and forks that meet in one cache."""

import threading

from cache_helpers import FILES, KEY, POSIX, in_child

# Races and sudden deaths

SAME_KEY = """
root = sys.argv[1]
start = time.time() + 0.3

def work(number):
    cache = DiskCache(root)
    time.sleep(start - time.time())
    for key in KEYS[:10]:
        entry = cache.store(key, {"a": content(key), "b": str(number).encode()}, {"by": number})
        assert entry.read("a") == content(key)
        assert entry.read("b") == str(entry.metadata["by"]).encode()

codes = wait([fork(work, number) for number in range(8)])
info = DiskCache(root).info()
print(json.dumps([codes, info.entries, DiskCache(root).verify(), os.listdir(root + "/v1/tmp")]))
"""


@POSIX
def test_processes_that_store_the_same_keys_at_once(root):
    codes, entries, problems, left = in_child(SAME_KEY, root)
    assert codes == [0] * 8
    assert (entries, problems, left) == (10, [], [])


MIX = """
root = sys.argv[1]
deadline = time.time() + 2.5

def work(seed):
    cache = DiskCache(root, max_bytes=400_000)  # a dozen entries of 32 kB
    choose = random.Random(seed)
    while time.time() < deadline:
        key, group = choose.choice(KEYS[:24]), choose.choice(KEYS[-3:])
        what = choose.random()
        if what < 0.4:
            entry = cache.store(key, {"a": content(key)}, {"key": key}, group=group)
        elif what < 0.8:
            entry = cache.load(key, group=group)
        elif what < 0.98:
            entry = choose.choice(cache.load_group(group) or [None])
            if entry is not None and not entry.verify():
                entry = None
        else:
            cache.clear()
            continue
        if entry is not None:
            assert entry.metadata == {"key": entry.key}
            with open(os.path.join(entry.folder, "a"), "rb") as file:
                data = file.read()
            assert data == content(entry.key)

def careful(seed):
    while time.time() < deadline:
        try:
            work(seed)
        except FileNotFoundError:  # evicted between the check and the use: to be treated as a miss
            seed += 1000

codes = wait([fork(careful, seed) for seed in range(8)])
cache = DiskCache(root, max_bytes=400_000)
cache.store(KEYS[0], {"a": content(KEYS[0])})
print(json.dumps([codes, cache.info().bytes, cache.verify(), os.listdir(root + "/v1/tmp")]))
"""


@POSIX
def test_processes_that_store_load_evict_and_clear_at_once(root):
    codes, size, problems, left = in_child(MIX, root)
    assert codes == [0] * 8
    assert size <= 400_000
    assert (problems, left) == ([], [])


KILLED = """
root, rounds = sys.argv[1], 10
choose = random.Random(1)

def work(seed):
    cache = DiskCache(root, max_bytes=2_000_000)
    while True:
        for key in KEYS[seed * 50 : seed * 50 + 50]:
            cache.store(key, {"a": content(key), "b": content(key)[:999]}, {"key": key})

found = []
for seed in range(rounds):
    pid = fork(work, seed)
    time.sleep(0.02 + 0.1 * choose.random())
    os.kill(pid, signal.SIGKILL)
    codes = wait([pid])
    cache = DiskCache(root)
    found.append([codes, cache.verify()])
entries = cache.info().entries
drafts = os.path.join(root, "v1", "tmp")
for name in os.listdir(drafts):
    os.utime(os.path.join(drafts, name), (1000, 1000))
cache.store(KEYS[-1], {"a": b""})
print(json.dumps([found, entries, os.listdir(drafts)]))
"""


@POSIX
def test_nothing_half_written_survives_a_kill(root):
    found, entries, left = in_child(KILLED, root)
    assert found == [[[-9], []]] * 10
    assert entries > 10
    assert left == []


def test_threads_that_store_the_same_key_at_once(cache):
    entries, barrier = [], threading.Barrier(8)

    def work():
        barrier.wait()
        entries.append(cache.store(KEY, FILES))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(entries) == 8
    assert all(entry is not None and entry.verify() for entry in entries)
    assert cache.info().entries == 1


# Forks while other threads are in the cache: a lock held in the parent would hang the child.
FORKS = """
warnings.filterwarnings("ignore", message=".*multi-threaded.*fork", category=DeprecationWarning)
stop = threading.Event()

def hammer():
    while not stop.is_set():
        os.environ["NPACCEL_CACHE_MAX_BYTES"] = str(random.randrange(10**6, 10**9))
        default_cache().store(KEYS[0], {"a": content(KEYS[0])})
        default_cache().clear()

def work(number):
    signal.alarm(20)
    key = KEYS[number + 1]
    entry = default_cache().store(key, {"a": content(key)}, group=KEYS[-1])
    if entry is not None:  # cleared by the threads
        assert entry.key == key

threads = [threading.Thread(target=hammer) for _ in range(3)]
for thread in threads:
    thread.start()
codes = [code for number in range(20) for code in wait([fork(work, number)])]
stop.set()
for thread in threads:
    thread.join()
print(json.dumps([codes, default_cache().verify()]))
"""


@POSIX
def test_a_forked_child_can_use_the_cache(root):
    codes, problems = in_child(FORKS, env={"NPACCEL_CACHE_DIR": str(root)})
    assert codes == [0] * 20
    assert problems == []
