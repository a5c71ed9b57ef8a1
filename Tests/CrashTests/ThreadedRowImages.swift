// What a history over rows leaves: on the disk, after power cuts, and for the next opening.

import Foundation
import QuireDatabase
import QuireStorage
import QuireTesting
import Synchronization

extension ThreadedRowHistory {
  /// A disk as it was at some moment.
  struct Image: Sendable {
    let name: String
    let disk: SimulatedDisk
    let began: UInt64
    let ended: UInt64
    /// Whether the power was cut, and not only the process ended.
    var isOfPowerCut = true
  }

  /// Runs it; returns what is wrong. Ends the process if threads wait for ever.
  func run(_ counts: inout Counts) throws -> [String] {
    let camera = RowCamera(self)
    // What is refused later is not refused yet: only where no call fails is each image one of known commits.
    if plan.fault == .nothing { camera.start() }
    work()
    camera.stop()
    let (all, events) = (records.withLock { $0 }, events.withLock { $0 })
    let checker = RowHistoryChecker(all, events, after: first)
    for text in checker.violations { complain(text) }
    for image in camera.images + lastImages() {
      counts.images += 1
      do {
        let record = try read(image)
        let problems =
          checker.problems(ofImage: record) ?? RowHistoryChecker(all + [record], events, after: first).violations
        for text in problems { complain("\(image.name): \(text)") }
      } catch { complain("\(image.name): \(error)") }
    }
    counts.take(all)
    counts.cacheHits += database.objectCacheStatistics?.hits ?? 0
    try end(checker)
    return complaints.withLock { $0 }
  }

  /// The end of the process, and power cuts, when the threads have ended.
  private func lastImages() -> [Image] {
    func image(_ name: String, _ disk: SimulatedDisk, isOfPowerCut: Bool = true) -> Image {
      Image(name: name, disk: disk, began: Self.now, ended: Self.now, isOfPowerCut: isOfPowerCut)
    }
    var images = [
      image("nothing unsynced", disk.crashImage(.allOld)), image("all unsynced", disk.crashImage(.allNew)),
      image("power cut", disk.crashImage(.random(plan.seed))),
    ]
    // What a failed sync has dropped from the cache is not there for the next process.
    if plan.fault == .nothing || plan.fault == .full {
      images.append(image("kill", disk.processKillImage(), isOfPowerCut: false))
    }
    return images
  }

  /// All that an image has, as one more read.
  private func read(_ image: Image) throws -> RowRecord {
    let database = try image.disk.openDatabase(
      seed: plan.seed, plan.options, unloggedByteCount: plan.unloggedByteCount)
    var record = try readAll(database)
    (record.began, record.ended) = (image.began, image.ended)
    record.isOfPowerCut = image.isOfPowerCut && plan.durability != .full
    try database.verify()
    try database.close()
    return record
  }

  private func readAll(_ database: Database) throws -> RowRecord {
    var record = RowRecord(thread: 0, number: 0, began: Self.now)
    try database.read { tx in
      var script = ThreadedRowScript(plan, thread: 0, number: 0)
      // Twice: the second time from the cache of objects.
      try script.lookAtEverything(tx)
      try script.lookAtEverything(tx)
      record.snapshot = tx.csn.rawValue
      record.steps = script.steps
    }
    record.ended = Self.now
    return record
  }

  /// Closes the database. Where no sync has failed, it then holds what was acknowledged.
  private func end(_ checker: RowHistoryChecker) throws {
    if plan.fault == .write || plan.fault == .synchronize {
      disk.powerOff()
      do { try database.close() } catch {}
      return
    }
    try database.checkInvariants()
    try database.close()
    let again = try disk.openDatabase(seed: plan.seed, plan.options, unloggedByteCount: plan.unloggedByteCount)
    let record = try readAll(again)
    for text in checker.problems(ofImage: record) ?? [] { complain("opened again: \(text)") }
    try again.verify()
    try again.close()
  }
}

extension ThreadedRowHistory.Counts {
  /// Adds those of a history.
  mutating func take(_ records: [RowRecord]) {
    for record in records where record.snapshot != nil {
      steps += record.steps.count
      switch record.outcome {
      case nil: reads += 1
      case .acknowledged:
        acknowledged += 1
        if record.told.map({ $0.number == record.snapshot }) ?? true { withoutNumber += 1 }
      case .rolledBack: rolledBack += 1
      case .refused: refused += 1
      case .unknown: unknown += 1
      }
    }
  }
}

/// Takes images of the disk while threads work.
private final class RowCamera: Sendable {
  private struct State {
    var images: [ThreadedRowHistory.Image] = []
    var mustEnd = false
  }

  private let history: ThreadedRowHistory
  private let state = Latch(State())
  private let done = DispatchSemaphore(value: 0)

  init(_ history: ThreadedRowHistory) { self.history = history }

  var images: [ThreadedRowHistory.Image] { state.withLock { $0.images } }

  func start() {
    Thread.detachNewThread { [self] in
      var random = SeededRandom(seed: history.plan.seed &* 17)
      for number in 1...3 {
        ThreadedFaultHistory.sleep(1000 + random.below(20_000))
        if state.withLock({ $0.mustEnd }) { break }
        let began = ThreadedRowHistory.now
        let isOfPowerCut = !random.oneIn(4)
        let mode = random.pick([CrashMode.allOld, .allNew, .random(random.next()), .random(random.next())])
        let disk = isOfPowerCut ? history.disk.crashImage(mode) : history.disk.processKillImage()
        let image = ThreadedRowHistory.Image(
          name: "\(isOfPowerCut ? "power cut \(mode)" : "kill"), image \(number)", disk: disk, began: began,
          ended: ThreadedRowHistory.now, isOfPowerCut: isOfPowerCut)
        state.withLock { $0.images.append(image) }
      }
      done.signal()
    }
  }

  /// Waits until no more images are taken, if any were.
  func stop() {
    let hasImages = history.plan.fault == .nothing
    state.withLock { $0.mustEnd = true }
    if hasImages { done.wait() }
  }
}
