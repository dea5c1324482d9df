// What iterations that threads share throw: the first is thrown again behind them.
struct Caught {
    bool is_set = false;
    Error first{nullptr};

    void note() noexcept
    {
        const bool was_set = __atomic_exchange_n(&is_set, true, __ATOMIC_ACQ_REL);
        try {
            throw;
        } catch (const Error& error) {
            if (!was_set) first = error;
        } catch (...) {
        }
    }
    void rethrow() const
    {
        if (is_set) throw first;
    }
};
