// A simple simulation of a loss system: a std::priority_queue of departure times.
//
//   priority_queue fixed|mixed exponential|deterministic|lognormal|pareto ARRIVALS SEED
//
// fixed: every job takes 5 of 4,000 servers, from equilibrium (M/G/800/800).
// mixed: jobs get 3 or 4 servers, or what is idle, from empty after a warm-up.
// Prints one line of JSON; "seconds" is CPU time of the counted arrivals with their random numbers.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <queue>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

constexpr int servers = 4000;
constexpr int places = servers / 5;
constexpr double speed_up_of_five = 5.0;
const double load_fixed = 1 - 0.1 / std::sqrt(servers);

constexpr double load_mixed = 0.8;
constexpr double share_of_three = 0.625;
constexpr double speed_ups[] = {0.0, 1.0, 1.8, 2.5, 3.0};
constexpr std::int64_t warm_up_mixed = 400'000;

const double log_variance = std::log(2.0);  // a coefficient of variation of one
constexpr double pareto_shape = 1.5;
constexpr double pareto_least = (pareto_shape - 1) / pareto_shape;

// xoshiro256++ (Blackman and Vigna 2021), seeded by SplitMix64 as they advise.
class Random {
    std::uint64_t state_[4];
    double spare_normal_ = 0.0;
    bool has_spare_ = false;

public:
    explicit Random(std::uint64_t seed) {
        for (auto& word : state_) {
            seed += 0x9e3779b97f4a7c15;
            std::uint64_t mixed = seed;
            mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
            mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
            word = mixed ^ (mixed >> 31);
        }
    }

    std::uint64_t bits() {
        const std::uint64_t drawn = std::rotl(state_[0] + state_[3], 23) + state_[0];
        const std::uint64_t shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = std::rotl(state_[3], 45);
        return drawn;
    }

    // In (0, 1]: safe under a logarithm or a negative power.
    double uniform() { return static_cast<double>((bits() >> 11) + 1) * 0x1p-53; }

    double exponential() { return -std::log(uniform()); }

    double normal() {  // Marsaglia's polar method
        if (has_spare_) {
            has_spare_ = false;
            return spare_normal_;
        }
        double x, y, square;
        do {
            x = 2 * uniform() - 1;
            y = 2 * uniform() - 1;
            square = x * x + y * y;
        } while (square >= 1 || square == 0);
        const double factor = std::sqrt(-2 * std::log(square) / square);
        spare_normal_ = y * factor;
        has_spare_ = true;
        return x * factor;
    }
};

// Each law draws a size of unit mean, and a length-biased one for the jobs that run at the start.
struct Exponential {
    double size(Random& random) const { return random.exponential(); }
    double biased(Random& random) const { return random.exponential() + random.exponential(); }
};

struct Deterministic {
    double size(Random&) const { return 1.0; }
    double biased(Random&) const { return 1.0; }
};

struct Lognormal {
    double sigma = std::sqrt(log_variance);
    double size(Random& random) const { return std::exp(sigma * random.normal() - log_variance / 2); }
    double biased(Random& random) const { return std::exp(sigma * random.normal() + log_variance / 2); }
};

struct Pareto {
    double size(Random& random) const { return pareto_least * std::pow(random.uniform(), -1 / pareto_shape); }
    double biased(Random& random) const {
        return pareto_least * std::pow(random.uniform(), -1 / (pareto_shape - 1));
    }
};

struct Outcome {
    std::int64_t blocked;
    double seconds;
};

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

template <typename Law>
Outcome fixed_width(const Law law, std::int64_t arrivals, Random& random) {
    const double rate = servers * load_fixed;
    std::vector<double> storage;
    storage.reserve(places + 1);
    std::priority_queue<double, std::vector<double>, std::greater<>> departures(std::greater<>{}, std::move(storage));

    std::mt19937_64 counter(random.bits());
    std::poisson_distribution<int> poisson(rate / speed_up_of_five);
    int found = places + 1;
    while (found > places) found = poisson(counter);
    for (int job = 0; job < found; ++job) {
        departures.push(random.uniform() * law.biased(random) / speed_up_of_five);
    }

    const double started = cpu_seconds();
    double now = 0.0;
    std::int64_t blocked = 0;
    for (std::int64_t arrival = 0; arrival < arrivals; ++arrival) {
        now += random.exponential() / rate;
        while (!departures.empty() && departures.top() <= now) departures.pop();
        if (departures.size() == places) {
            ++blocked;
        } else {
            departures.push(now + law.size(random) / speed_up_of_five);
        }
    }
    return {blocked, cpu_seconds() - started};
}

template <typename Law>
Outcome mixed_widths(const Law law, std::int64_t arrivals, Random& random) {
    using Departure = std::pair<double, int>;
    std::vector<Departure> storage;
    storage.reserve(servers + 1);
    std::priority_queue<Departure, std::vector<Departure>, std::greater<>> departures(std::greater<>{}, std::move(storage));

    const double rate = servers * load_mixed;
    double started = 0.0;
    double now = 0.0;
    int idle = servers;
    std::int64_t blocked = 0;
    for (std::int64_t arrival = -warm_up_mixed; arrival < arrivals; ++arrival) {
        if (arrival == 0) {
            blocked = 0;
            started = cpu_seconds();
        }
        now += random.exponential() / rate;
        while (!departures.empty() && departures.top().first <= now) {
            idle += departures.top().second;
            departures.pop();
        }
        if (idle == 0) {
            ++blocked;
            continue;
        }
        const int width = random.uniform() <= share_of_three ? 3 : 4;
        const int granted = width < idle ? width : idle;
        idle -= granted;
        departures.emplace(now + law.size(random) / speed_ups[granted], granted);
    }
    return {blocked, cpu_seconds() - started};
}

template <typename Law>
Outcome simulate(std::string_view mode, const Law law, std::int64_t arrivals, Random& random) {
    return mode == "mixed" ? mixed_widths(law, arrivals, random) : fixed_width(law, arrivals, random);
}

int main(int count, char** words) {
    if (count != 5) {
        std::fprintf(stderr, "usage: %s fixed|mixed LAW ARRIVALS SEED\n", words[0]);
        return 2;
    }
    const std::string_view mode = words[1];
    const std::string_view law = words[2];
    const std::int64_t arrivals = std::atoll(words[3]);
    Random random(std::strtoull(words[4], nullptr, 10));

    Outcome outcome{};
    if (law == "exponential") {
        outcome = simulate(mode, Exponential{}, arrivals, random);
    } else if (law == "deterministic") {
        outcome = simulate(mode, Deterministic{}, arrivals, random);
    } else if (law == "lognormal") {
        outcome = simulate(mode, Lognormal{}, arrivals, random);
    } else if (law == "pareto") {
        outcome = simulate(mode, Pareto{}, arrivals, random);
    } else {
        std::fprintf(stderr, "unknown law: %s\n", words[2]);
        return 2;
    }
    std::printf("{\"arrivals\": %lld, \"blocked\": %lld, \"seconds\": %.6f}\n", static_cast<long long>(arrivals),
                static_cast<long long>(outcome.blocked), outcome.seconds);
}
