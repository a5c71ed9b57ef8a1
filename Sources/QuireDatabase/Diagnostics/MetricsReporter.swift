// What a database does, in numbers for swift-metrics: with the trait `Metrics`. Without it nothing of this runs.

internal import QuireStorage
internal import Synchronization

#if Metrics
  internal import Metrics

  /// Reports what a database does, under labels that begin with “quire.”, in the dimension `database`.
  ///
  /// Write transactions are counted one by one. Read transactions are counted by the memory that they use one after the
  /// other, which tells of `reportedReadCount` at a time, and of these one is timed: a number that
  /// all readers share would cost each of them more than the rest of the bookkeeping. What the engine counts is passed
  /// on when a transaction ends, but no more often than the interval says, and when the database is closed.
  final class MetricsReporter: Sendable {
    static let isOn = true

    /// How many read transactions are reported together.
    private static let reportedReadCount = 64

    /// What was passed on, and when it is time to do so again.
    private struct Reported {
      var commits = 0
      var flushes = 0
      var logBytes = 0
      var checkpoints = 0
      var pagesWritten = 0
      var pagesRead = 0
      var misses = 0
      var evictions = 0
      var objectHits = 0
      var objectMisses = 0
      var objectEvictions = 0
      var next: UInt64 = 0
    }

    private let interval: UInt64
    private let reported = Latch(Reported())
    private let changes: Counter
    private let rollbacks: Counter
    private let commits: Counter
    private let flushes: Counter
    private let logBytes: Counter
    private let checkpoints: Counter
    private let pagesWritten: Counter
    private let pagesRead: Counter
    private let misses: Counter
    private let evictions: Counter
    private let objectHits: Counter
    private let objectMisses: Counter
    private let objectEvictions: Counter
    private let reads: Counter
    private let writeTime: Metrics.Timer
    private let waitingTime: Metrics.Timer
    private let commitTime: Metrics.Timer
    private let readTime: Metrics.Timer
    private let openingTime: Metrics.Timer
    private let recovered: Counter
    private let oldestCommits: Meter
    private let oldestSeconds: Meter
    private let dirtyPages: Meter
    private let residentPages: Meter
    private let filePages: Meter
    private let freePages: Meter
    private let heldPages: Meter
    /// Of each feed: commits, bytes and seconds.
    private let feedMeters = Latch<[String: [Meter]]>([:])
    private let dimensions: [(String, String)]

    init(label: String, interval: UInt64) {
      self.interval = interval
      let dimensions = [("database", label)]
      self.dimensions = dimensions
      func counter(_ name: String) -> Counter { Counter(label: "quire.\(name)", dimensions: dimensions) }
      func timer(_ name: String) -> Metrics.Timer { Metrics.Timer(label: "quire.\(name)", dimensions: dimensions) }
      func meter(_ name: String) -> Meter { Meter(label: "quire.\(name)", dimensions: dimensions) }
      changes = counter("changes")
      rollbacks = counter("rollbacks")
      commits = counter("commits")
      flushes = counter("log.flushes")
      logBytes = counter("log.bytes")
      checkpoints = counter("checkpoints")
      pagesWritten = counter("pages.written")
      pagesRead = counter("pages.read")
      misses = counter("cache.misses")
      evictions = counter("cache.evictions")
      objectHits = counter("objects.hits")
      objectMisses = counter("objects.misses")
      objectEvictions = counter("objects.evictions")
      reads = counter("reads")
      writeTime = timer("write.duration")
      waitingTime = timer("write.waiting")
      commitTime = timer("write.commit")
      readTime = timer("read.duration")
      openingTime = timer("opening.duration")
      recovered = counter("opening.records")
      oldestCommits = meter("snapshot.oldest.commits")
      oldestSeconds = meter("snapshot.oldest.seconds")
      dirtyPages = meter("pages.dirty")
      residentPages = meter("pages.resident")
      filePages = meter("file.pages")
      freePages = meter("file.pages.free")
      heldPages = meter("file.pages.held")
    }

    /// The database was opened, in so many nanoseconds.
    func noteOpening(_ nanoseconds: UInt64, records: Int) {
      openingTime.recordNanoseconds(nanoseconds)
      recovered.increment(by: records)
    }

    /// A write transaction is over.
    func noteWrite(_ times: WriteWatch.Times, changes count: Int, isCommitted: Bool) {
      writeTime.recordNanoseconds(times.total)
      waitingTime.recordNanoseconds(times.waiting)
      guard isCommitted else { return rollbacks.increment() }
      commitTime.recordNanoseconds(times.commit)
      changes.increment(by: count)
    }

    /// A read transaction begins: says when, if it is one that is timed.
    @inline(__always) func readBegins(_ scratch: some ReadCounter) -> UInt64 {
      scratch.readCount &+= 1
      return scratch.readCount == MetricsReporter.reportedReadCount ? MonotonicClock.now : 0
    }

    /// A read transaction is over, which began at `began` if that was noted.
    @inline(__always) func readEnds(_ began: UInt64, _ scratch: some ReadCounter, _ database: some DiagnosedDatabase) {
      if began != 0 { reportReads(began, scratch, database) }
    }

    @inline(never)
    private func reportReads(_ began: UInt64, _ scratch: some ReadCounter, _ database: some DiagnosedDatabase) {
      readTime.recordNanoseconds(MonotonicClock.now - began)
      forget(scratch)
      report(database)
    }

    /// Passes on the reads that a piece of memory has counted.
    func forget(_ scratch: some ReadCounter) {
      reads.increment(by: scratch.readCount)
      scratch.readCount = 0
    }

    /// There is another engine, which has counted nothing yet.
    func beginAnew() {
      reported.withLock { reported in
        let former = reported
        reported = Reported()
        (reported.objectHits, reported.objectMisses) = (former.objectHits, former.objectMisses)
        (reported.objectEvictions, reported.next) = (former.objectEvictions, former.next)
      }
    }

    /// Passes on what the engine has counted, if it is time, or if it `mustReport`.
    func report(_ database: some DiagnosedDatabase, mustReport: Bool = false) {
      let now = MonotonicClock.coarse
      let isDue = reported.withLock { reported -> Bool in
        guard mustReport || now >= reported.next else { return false }
        reported.next = now &+ interval
        return true
      }
      guard isDue else { return }
      let statistics = database.statistics
      let objects = database.objectCounts
      reported.withLock { reported in
        func pass(_ counter: Counter, _ count: Int, _ last: inout Int) {
          // Two threads may have asked in one order and come here in the other.
          if count > last { counter.increment(by: count - last) }
          last = max(last, count)
        }
        pass(commits, statistics.commits, &reported.commits)
        pass(flushes, statistics.flushes, &reported.flushes)
        pass(logBytes, statistics.logBytes, &reported.logBytes)
        pass(checkpoints, statistics.checkpoints, &reported.checkpoints)
        pass(pagesWritten, statistics.pagesWritten, &reported.pagesWritten)
        pass(pagesRead, statistics.pagesRead, &reported.pagesRead)
        pass(misses, statistics.cacheMisses, &reported.misses)
        pass(evictions, statistics.pagesEvicted, &reported.evictions)
        guard let objects else { return }
        pass(objectHits, objects.hits, &reported.objectHits)
        pass(objectMisses, objects.misses, &reported.objectMisses)
        pass(objectEvictions, objects.evictions, &reported.objectEvictions)
      }
      oldestCommits.set(statistics.oldestSnapshotAge)
      oldestSeconds.set(Double(database.holders.held().first?.snapshot.age.nanoseconds ?? 0) / 1e9)
      dirtyPages.set(statistics.dirtyPages)
      residentPages.set(statistics.residentPages)
      filePages.set(statistics.filePages)
      freePages.set(statistics.freePages)
      heldPages.set(statistics.heldPages)
      for lag in database.feedLags { report(lag) }
    }

    private func report(_ lag: FeedLag) {
      let meters = feedMeters.withLock { meters in
        if let known = meters[lag.feed] { return known }
        let new = ["commits", "bytes", "seconds"].map { what in
          Meter(label: "quire.feed.lag.\(what)", dimensions: dimensions + [("feed", lag.feed)])
        }
        meters[lag.feed] = new
        return new
      }
      meters[0].set(lag.commits)
      meters[1].set(lag.bytes)
      meters[2].set(lag.seconds)
    }
  }
#else
  /// Stands for what the trait `Metrics` would report.
  struct MetricsReporter: Sendable {
    static var isOn: Bool { false }
    init(label: String, interval: UInt64) {}
    func noteOpening(_ nanoseconds: UInt64, records: Int) {}
    func noteWrite(_ times: WriteWatch.Times, changes count: Int, isCommitted: Bool) {}
    @inline(__always) func readBegins(_ scratch: some ReadCounter) -> UInt64 { 0 }
    @inline(__always) func readEnds(_ began: UInt64, _ scratch: some ReadCounter, _ database: some DiagnosedDatabase) {}
    func forget(_ scratch: some ReadCounter) {}
    func beginAnew() {}
    func report(_ database: some DiagnosedDatabase, mustReport: Bool = false) {}
  }
#endif
