// Threads that share a kernel's loops. Loops are divided into parts, of which there are as many
// whatever threads there are, so that the sums of a reduction are always the same. A thread takes
// several parts where there are fewer.
namespace npaccel {
// Until when the calling thread takes all parts itself, and for how long that was decided.
struct Alone {
    double until, length;  // s, of omp_get_wtime
};
static Alone alone_here{0, 0};
static Alone* alone = &alone_here;  // All kernels of a process have the same.

inline double relaxed(const double& from)
{
    double value;
    __atomic_load(&from, &value, __ATOMIC_RELAXED);
    return value;
}
inline void relaxed(double& to, double value) { __atomic_store(&to, &value, __ATOMIC_RELAXED); }

inline int members(int parts)
{
    const double until = relaxed(alone->until);
    if (parts == 1 || (until != 0 && omp_get_wtime() < until)) return 1;
    const int threads = omp_get_max_threads();
    return threads < parts ? threads : parts;
}
// The threads of one region. Where the others are late, since their cores have other work, the
// calling thread is quicker without them: for twenty times as long as it has waited, then for twice
// as long as before.
struct Team {
    const int count;
    double last, worked = 0, waited = 0;

    explicit Team(int parts) : count(members(parts)), last(omp_get_wtime()) {}
    void share_done() { add_to(worked); }
    void share_begun() { add_to(waited); }
    void end()
    {
        if (count == 1) return;
        share_begun();
        if (waited > 30e-6 + worked * (count - 1)) leave_out(last, waited);
    }

private:
    void add_to(double& time)
    {
        if (count == 1 || omp_get_thread_num() != 0) return;
        const double now = omp_get_wtime();
        time += now - last;
        last = now;
    }
    __attribute__((cold, noinline)) static void leave_out(double now, double waited)
    {
        const double before = relaxed(alone->length);
        double length = 20 * waited;
        if (now - relaxed(alone->until) < 10 * before && before > length / 2)
            length = 2 * before < 8 * length ? 2 * before : 8 * length;
        relaxed(alone->length, length);
        relaxed(alone->until, now + length);
    }
};
inline int64_t iterations(int64_t begin, int64_t end, int64_t step)
{
    return begin < end ? (end - begin + step - 1) / step : 0;
}
// Where a part begins, of which the first ones have one iteration more.
inline int64_t first_of(int64_t count, int64_t part, int64_t parts)
{
    const int64_t least = count / parts, more = count % parts;
    return least * part + (part < more ? part : more);
}
}
