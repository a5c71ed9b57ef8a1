// What takes too long, told to the log; and what is measured and traced, if a trait asks for it.

internal import Logging
internal import QuireStorage
internal import Synchronization

/// Watches the transactions of one database.
///
/// Without a logger, and without the traits `Metrics` and `Tracing`, no time is taken but the coarse one that says
/// since when a snapshot is held.
final class Diagnostics: Sendable {
  /// What the database is called in messages.
  let label: String
  let metrics: MetricsReporter
  let logger: Logger?
  /// From how many nanoseconds on a transaction is slow.
  private let slowThreshold: UInt64
  /// From how many nanoseconds on a snapshot is held for too long.
  private let holdThreshold: UInt64
  /// Whether slow transactions are told of.
  private let logsSlow: Bool
  /// When held snapshots are looked at again, in nanoseconds.
  private let nextLook = Atomic<UInt64>(0)
  /// What is told once and was told.
  private let told = Latch<Set<ByteString>>([])

  /// - Parameters:
  ///   - label: what the database is called in messages.
  ///   - metricsInterval: how often figures are passed on, at the most.
  ///   - slowThreshold: from how long on a transaction is slow; nil for never.
  ///   - holdThreshold: from how long on a snapshot is held for too long; nil for never.
  init(
    label: String, logger: Logger?, metricsInterval: Duration, slowThreshold: Duration?, holdThreshold: Duration?
  ) {
    self.label = label
    self.logger = logger
    metrics = MetricsReporter(label: label, interval: metricsInterval.nanoseconds)
    self.slowThreshold = slowThreshold?.nanoseconds ?? .max
    self.holdThreshold = holdThreshold?.nanoseconds ?? .max
    logsSlow = logger != nil && slowThreshold != nil
  }

  /// Whether something that is told once has not been told yet.
  func isFirst(_ what: String) -> Bool { told.withLock { $0.insert(ByteString(what)).inserted } }

  // MARK: Write transactions

  /// Begins to watch a write transaction; nil if nobody wants to know.
  func watchWrite(_ site: CallSite, connection: String?) -> WriteWatch? {
    guard logsSlow || MetricsReporter.isOn || TransactionSpan.isOn else { return nil }
    return WriteWatch(site, connection: connection, TransactionSpan(named: "quire.write", label, site))
  }

  /// A write transaction is over: committed, or failed with `error`.
  func didEnd(_ watch: WriteWatch?, _ error: (any Error)? = nil) {
    guard let watch else { return }
    let times = watch.times
    metrics.noteWrite(times, changes: watch.changeCount, isCommitted: error == nil)
    watch.span.end(error) { span in
      span.set("quire.changes", watch.changeCount)
      span.set("quire.waiting.ns", Int(times.waiting))
      span.set("quire.commit.ns", Int(times.commit))
    }
    guard logsSlow, times.total >= slowThreshold else { return }
    var metadata = describe("write", times.total, watch.site, watch.connection)
    metadata["waiting"] = "\(Self.text(times.waiting))"
    metadata["closure"] = "\(Self.text(times.body))"
    metadata["commit"] = "\(Self.text(times.commit))"
    metadata["changes"] = "\(watch.changeCount)"
    if let error { metadata["error"] = "\(Self.text(error))" }
    CallOut.check()
    logger?.warning("A write transaction took long, and other writers had to wait.", metadata: metadata)
  }

  /// An error without what lies beneath: a coder's may quote the value that it failed at, which a log must not keep.
  static func text(_ error: any Error) -> String {
    guard let error = error as? DatabaseError else { return String(reflecting: type(of: error)) }
    return "\(error.withoutCause)"
  }

  // MARK: Read transactions

  /// When a read transaction begins, in nanoseconds; 0 if nobody wants to know.
  @inline(__always) func readBegins() -> UInt64 { logsSlow ? MonotonicClock.coarse : 0 }

  /// A read transaction that began at `began` is over.
  ///
  /// - Parameter connection: the name of its connection, if that has one.
  @inline(__always) func readEnds(
    _ began: UInt64, _ kind: StaticString, _ site: CallSite, connection: @autoclosure () -> String?
  ) {
    if began == 0 { return }
    let now = MonotonicClock.coarse
    if now - began >= slowThreshold { logSlowRead(now - began, kind, site, connection: connection()) }
  }

  @inline(never)
  private func logSlowRead(_ total: UInt64, _ kind: StaticString, _ site: CallSite, connection: String?) {
    CallOut.check()
    logger?.warning(
      "A read transaction took long, and kept the pages of its snapshot.",
      metadata: describe("\(kind)", total, site, connection))
  }

  private func describe(
    _ kind: String, _ total: UInt64, _ site: CallSite, _ connection: String?
  ) -> Logger.Metadata {
    var metadata: Logger.Metadata = [
      "database": "\(label)", "kind": "\(kind)", "duration": "\(Self.text(total))", "at": "\(site)",
    ]
    if let connection { metadata["connection"] = "\(connection)" }
    return metadata
  }

  private static func text(_ nanoseconds: UInt64) -> String { "\(Duration.nanoseconds(Int64(clamping: nanoseconds)))" }

  // MARK: Snapshots

  /// A commit was acknowledged: complains about snapshots that are held for too long, once about each, if pages that
  /// were replaced cannot be used again. Looks at them now and then only.
  func lookAtSnapshots(_ database: some DiagnosedDatabase) {
    guard let logger, holdThreshold != .max else { return }
    let now = MonotonicClock.coarse
    let due = nextLook.load(ordering: .relaxed)
    guard now >= due else { return }
    let next = now.addingReportingOverflow(min(holdThreshold / 4, Self.longestPause)).partialValue
    guard nextLook.compareExchange(expected: due, desired: next, ordering: .relaxed).exchanged else { return }
    let published = database.publishedCSN
    let old = database.holders.held().filter { held in
      held.snapshot.csn < published && held.snapshot.age.nanoseconds >= holdThreshold
    }
    if old.isEmpty { return }
    let pageCount = database.statistics.heldPages
    guard pageCount > 0 else { return }
    for (holder, snapshot) in old where holder.isFirstWarning() {
      var metadata: Logger.Metadata = [
        "database": "\(label)", "kind": "\(snapshot.kind)", "commit": "\(snapshot.csn.rawValue)",
        "newest": "\(published.rawValue)", "age": "\(snapshot.age)", "at": "\(snapshot.fileID):\(snapshot.line)",
        "pages": "\(pageCount)",
      ]
      if let connection = snapshot.connection { metadata["connection"] = "\(connection)" }
      CallOut.check()
      logger.warning(
        "A snapshot is held for long: what has been replaced since cannot be used again, and the file grows.",
        metadata: metadata)
    }
  }

  /// The longest time between two looks, in nanoseconds.
  private static let longestPause: UInt64 = 5_000_000_000
}

/// What diagnostics ask an open database for.
protocol DiagnosedDatabase: AnyObject {
  /// The newest commit that readers see.
  var publishedCSN: CSN { get }
  /// Who holds snapshots.
  var holders: SnapshotHolders { get }
  /// What the engine has counted.
  var statistics: StorageStatistics { get }
  /// How far behind the consumers of change feeds are, as far as they have released what they were told.
  var feedLags: [FeedLag] { get }
  /// What the cache of objects has counted; nil without one.
  var objectCounts: (hits: Int, misses: Int, evictions: Int)? { get }
}

/// How much of a change feed was not released.
struct FeedLag {
  let feed: String
  let commits: Int
  let bytes: Int
  /// How old what was released last is.
  let seconds: Double
}

/// What counts the read transactions that have used it, one after the other.
protocol ReadCounter: AnyObject {
  /// How many of them were not passed on yet.
  var readCount: Int { get set }
}
