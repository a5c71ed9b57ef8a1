// What the database shows to diagnostics, and how it sets them up.

internal import QuireStorage

extension DatabaseCore: DiagnosedDatabase {
  var statistics: StorageStatistics { engine.statistics }

  var feedLags: [FeedLag] { feeds?.lags ?? [] }

  var objectCounts: (hits: Int, misses: Int, evictions: Int)? {
    (objectCache?.statistics).map { ($0.hits, $0.misses, $0.evictions) }
  }
}

extension Diagnostics {
  /// What the options of a database ask for.
  convenience init(_ options: Database.Options, path: String) {
    self.init(
      label: options.label ?? (path.isEmpty ? "memory" : String(path.split(separator: "/").last ?? "quire")),
      logger: options.logger, metricsInterval: options.metricsInterval,
      slowThreshold: options.slowTransactionThreshold, holdThreshold: options.heldSnapshotThreshold)
  }
}
