// A simple simulation of moldable jobs that queue, first come, first served: a std::priority_queue of
// departures and a std::deque of waiting jobs.
//
//   queue_heap SERVERS LOAD exponential|lognormal|pareto ARRIVALS SEED
//
// Widths follow the even price: with p = exp(0.4 - (idle - behind) / sqrt(SERVERS)), a job gets the width
// w with the least (1 + w p) / s_w among those that divide the idle servers evenly. Runs from empty,
// after a warm-up. Prints one line of JSON; "seconds" is CPU time of the counted arrivals with their
// random numbers.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <functional>
#include <queue>
#include <string_view>
#include <utility>
#include <vector>

constexpr int widest = 5;
constexpr double speed_ups[] = {0.0, 1.0, 1.8, 2.5, 3.0, 3.4};
constexpr double log_price = 0.4;
constexpr int warm_up_sizes = 60;  // mean sizes

const double log_variance = std::log(2.0);  // a coefficient of variation of one
constexpr double pareto_shape = 2.2;
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

// Each law draws a size of unit mean.
struct Exponential {
    double size(Random& random) const { return random.exponential(); }
};

struct Lognormal {
    double sigma = std::sqrt(log_variance);
    double size(Random& random) const { return std::exp(sigma * random.normal() - log_variance / 2); }
};

struct Pareto {
    double size(Random& random) const { return pareto_least * std::pow(random.uniform(), -1 / pareto_shape); }
};

// Widths by idle servers and jobs behind; the last row and the last column stand for larger numbers, too.
class Widths {
    int most_idle_, most_behind_;
    std::vector<int> width_;

public:
    explicit Widths(int servers) {
        const double scale = std::sqrt(servers);
        most_idle_ = std::min(servers, static_cast<int>(3 * scale) + widest);
        most_behind_ = static_cast<int>(3 * scale) + 1;
        width_.resize(static_cast<std::size_t>(most_idle_ + 1) * (most_behind_ + 1), 0);
        for (int behind = 0; behind <= most_behind_; ++behind) {
            for (int idle = 1; idle <= most_idle_; ++idle) {
                const double price = std::exp(log_price - (idle - behind) / scale);
                double least = HUGE_VAL;
                for (int width = 1; width <= std::min(widest, idle); ++width) {
                    const int jobs = (idle + width - 1) / width;
                    const double cost = (1 + width * price) / speed_ups[width];
                    if ((idle + jobs - 1) / jobs == width && cost < least * (1 - 1e-12)) {
                        least = cost;
                        width_[behind * (most_idle_ + 1) + idle] = width;
                    }
                }
            }
        }
    }

    int operator()(int idle, std::size_t behind) const {
        const int column = static_cast<int>(std::min<std::size_t>(behind, most_behind_));
        return width_[column * (most_idle_ + 1) + std::min(idle, most_idle_)];
    }
};

struct Outcome {
    double seconds = 0.0, wait = 0.0, execution = 0.0;
    std::int64_t started = 0, waited = 0;
};

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

template <typename Law>
Outcome simulate(const Law law, int servers, double load, std::int64_t arrivals, Random& random) {
    using Departure = std::pair<double, int>;
    std::vector<Departure> storage;
    storage.reserve(servers + 1);
    std::priority_queue<Departure, std::vector<Departure>, std::greater<>> departures(std::greater<>{}, std::move(storage));
    std::deque<std::pair<double, double>> waiting;  // arrival time and size
    const Widths width_for(servers);

    const double rate = servers * load;
    int idle = servers;
    Outcome outcome;
    const auto start_jobs = [&](double now) {
        while (!waiting.empty() && idle > 0) {
            const int width = width_for(idle, waiting.size() - 1);
            if (width == 0) break;
            const auto [arrived, size] = waiting.front();
            waiting.pop_front();
            const double execution = size / speed_ups[width];
            idle -= width;
            departures.emplace(now + execution, width);
            ++outcome.started;
            outcome.waited += now > arrived;
            outcome.wait += now - arrived;
            outcome.execution += execution;
        }
    };
    double started = 0.0;
    double now = 0.0;
    for (std::int64_t arrival = -static_cast<std::int64_t>(warm_up_sizes * rate); arrival < arrivals; ++arrival) {
        if (arrival == 0) {
            outcome = Outcome{};
            started = cpu_seconds();
        }
        now += random.exponential() / rate;
        while (!departures.empty() && departures.top().first <= now) {
            const double released = departures.top().first;
            idle += departures.top().second;
            departures.pop();
            start_jobs(released);
        }
        const bool first = waiting.empty();
        waiting.emplace_back(now, law.size(random));
        if (first) start_jobs(now);
    }
    outcome.seconds = cpu_seconds() - started;
    return outcome;
}

int main(int count, char** words) {
    if (count != 6) {
        std::fprintf(stderr, "usage: %s SERVERS LOAD LAW ARRIVALS SEED\n", words[0]);
        return 2;
    }
    const int servers = std::atoi(words[1]);
    const double load = std::atof(words[2]);
    const std::string_view law = words[3];
    const std::int64_t arrivals = std::atoll(words[4]);
    Random random(std::strtoull(words[5], nullptr, 10));

    Outcome outcome{};
    if (law == "exponential") {
        outcome = simulate(Exponential{}, servers, load, arrivals, random);
    } else if (law == "lognormal") {
        outcome = simulate(Lognormal{}, servers, load, arrivals, random);
    } else if (law == "pareto") {
        outcome = simulate(Pareto{}, servers, load, arrivals, random);
    } else {
        std::fprintf(stderr, "unknown law: %s\n", words[3]);
        return 2;
    }
    const double jobs = static_cast<double>(outcome.started);
    std::printf("{\"arrivals\": %lld, \"seconds\": %.6f, \"response\": %.8f, \"wait\": %.8f, \"waited\": %.8f}\n",
                static_cast<long long>(arrivals), outcome.seconds, (outcome.wait + outcome.execution) / jobs,
                outcome.wait / jobs, static_cast<double>(outcome.waited) / jobs);
}
