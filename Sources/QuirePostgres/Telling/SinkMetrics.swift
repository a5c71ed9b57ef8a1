// What a mirror does, in numbers for swift-metrics: with the trait `Metrics`. Without it nothing of this runs.

#if Postgres
  #if Metrics
    internal import Metrics

    /// Reports what feeders do, under labels that begin with “quire.sink.”, in the dimension `feed`.
    struct SinkMetrics: Sendable {
      private let rows: Counter
      private let batches: Counter
      private let rejected: Counter
      private let retries: Counter

      init(feed: String, factory: any MetricsFactory = MetricsSystem.factory) {
        func counter(_ name: String) -> Counter {
          Counter(label: "quire.sink.\(name)", dimensions: [("feed", feed)], factory: factory)
        }
        rows = counter("rows")
        batches = counter("batches")
        rejected = counter("rejected")
        retries = counter("retries")
      }

      /// Counts what has happened.
      func note(_ event: PostgresEvent) {
        switch event {
        case .batch(_, let count, _):
          batches.increment()
          rows.increment(by: count)
        case .rejected: rejected.increment()
        case .retry: retries.increment()
        case .connected, .changedTable, .begins: break
        }
      }
    }
  #else
    /// Stands for what the trait `Metrics` would report.
    struct SinkMetrics: Sendable {
      init(feed: String) {}
      func note(_ event: PostgresEvent) {}
    }
  #endif
#endif
