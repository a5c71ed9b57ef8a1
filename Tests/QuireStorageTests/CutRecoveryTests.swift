// What is there after a power cut in the midst of the opening that follows a crash: its first meta page is torn, and
// the other one must lead to all that was acknowledged.

import QuireTesting
import Synchronization
import Testing

@testable import QuireStorage

@Suite struct CutRecoveryTests {
  /// Up to the checksum of a meta page that is written over another: what then stands there is neither.
  private static let tornByteCount = 40

  private func open(_ disk: SimulatedDisk) throws -> StorageEngine {
    let options = StorageOptions(pageSize: 512, cacheSize: 4 << 20, logLimit: 64 << 10, maintainsWhenIdle: false)
    return try disk.openEngine(options, segmentByteCount: 32 << 10, partByteCount: 4 << 10)
  }

  private func put(_ keys: Range<Int>, in engine: StorageEngine) throws {
    try engine.write { tx in
      let tree = try tx.tree(named: "t") ?? tx.createTree("t", keys: .int64)
      for key in keys { try tx.put([UInt8](marked: key, count: 60), for: Int64(key), in: tree) }
    }
  }

  private static func isMetaPage(_ operation: DiskOperation) -> Bool {
    operation.kind == .write && operation.path == "/db" && operation.offset < 2 * 512
  }

  private static func isLog(_ operation: DiskOperation, _ kind: OperationKind) -> Bool {
    operation.kind == kind && operation.path.hasPrefix("/db-log")
  }

  /// Lets the power fail while the next meta page is written.
  private func tearNextMetaPage(_ disk: SimulatedDisk) {
    disk.interceptOnce(where: Self.isMetaPage) { _ in .errorAfter(Self.tornByteCount, SystemCode.inputOutput) }
  }

  /// All that the disk may hold after a power cut: everything, or everything but one piece of what nobody has synced.
  private func crashImages(_ disk: SimulatedDisk) -> [SimulatedDisk] {
    (-1..<disk.pendingUnitCount()).map { disk.crashImage(.loseOne($0)) }
  }

  /// What the disk may hold after a power cut in the midst of the first meta page of the next opening.
  private func imagesOfCutOpening(of disk: SimulatedDisk) -> [SimulatedDisk] {
    let image = disk.copy()
    tearNextMetaPage(image)
    #expect(throws: StorageError.self) { _ = try open(image) }
    return crashImages(image)
  }

  /// How many rows an opening finds, all of them whole.
  private func rowCount(_ disk: SimulatedDisk) throws -> Int {
    let engine = try open(disk)
    try engine.verify()
    return try markedCount(engine)
  }

  @Test(
    "A commit by checkpoint outlives a power cut in the next opening, whether its mark is written or refused",
    arguments: [false, true])
  func commitByCheckpoint(isMarkRefused: Bool) throws {
    let disk = SimulatedDisk()
    let engine = try open(disk)
    try put(0..<40, in: engine)
    let checkpointer = engine.core.checkpointer
    if isMarkRefused {
      disk.interceptOnce(where: { Self.isLog($0, .write) && checkpointer.stage == .mark }) { _ in
        .error(SystemCode.noSpace)
      }
    }
    try put(40..<1040, in: engine)
    disk.removeInterceptors()
    try #require(engine.statistics.checkpoints == 1 && engine.core.queue.failure == nil)
    for image in [disk.processKillImage(), disk.crashImage(.allOld)] {
      for cut in imagesOfCutOpening(of: image) { #expect(try rowCount(cut) == 1040) }
    }
  }

  @Test("A commit by checkpoint whose sync failed is there or not, also after a power cut in the next opening")
  func failedCommitByCheckpoint() throws {
    let disk = SimulatedDisk()
    let engine = try open(disk)
    try put(0..<40, in: engine)
    let checkpointer = engine.core.checkpointer
    disk.interceptOnce(where: { $0.kind == .synchronize && $0.path == "/db" && checkpointer.stage == .meta }) { _ in
      .failedSync(.forgets, SystemCode.inputOutput, survivorsOneIn: 0)
    }
    let told = #expect(throws: StorageError.self) { try put(40..<1040, in: engine) }
    #expect(told?.code == .outcomeUnknown)
    disk.removeInterceptors()
    for cut in imagesOfCutOpening(of: disk.processKillImage()) {
      let found = try rowCount(cut)
      #expect(found == 40 || found == 1040)
    }
  }

  @Test("After a close that was killed before its last sync, a power cut in the first commit leaves all rows")
  func killedClose() throws {
    let disk = SimulatedDisk()
    let engine = try open(disk)
    try put(0..<40, in: engine)
    let images = Latch<[SimulatedDisk]>([])
    disk.intercept { [unowned disk] operation in
      if operation.kind == .synchronize, operation.path == "/db", disk.pendingByteCount(of: "/db") > 0 {
        images.withLock { $0.append(disk.processKillImage()) }
      }
      return nil
    }
    try engine.close()
    disk.removeInterceptors()
    let killed = try #require(images.withLock { $0.last })
    try #require(killed.names.contains { $0.hasPrefix("/db-log") })
    let second = try open(killed)
    tearNextMetaPage(killed)
    #expect(throws: StorageError.self) { try put(40..<43, in: second) }
    for cut in crashImages(killed) { #expect(try rowCount(cut) == 40) }
  }

  @Test("The file stays as long as the meta page before the newest counts, until a mark proves the newest")
  func fileKeepsItsLength() throws {
    let disk = SimulatedDisk()
    let engine = try open(disk)
    let core = engine.core
    try put(0..<40, in: engine)
    let large = try engine.write { tx in try tx.createTree("large", keys: .int64) }
    try engine.write { tx in
      for key in 0..<1000 { try tx.put([UInt8](marked: key, count: 90), for: Int64(key), in: large) }
    }
    try engine.checkpoint()
    try engine.write { tx in try tx.dropTree(large) }
    try engine.checkpoint()
    try put(0..<1, in: engine)
    try engine.checkpoint()
    let pageCount = core.meta.current.pageCount
    try put(0..<1, in: engine)
    let checkpointer = core.checkpointer
    disk.interceptOnce(where: { Self.isLog($0, .write) && checkpointer.stage == .mark }) { _ in
      .error(SystemCode.noSpace)
    }
    try engine.checkpoint()
    disk.removeInterceptors()
    try #require(core.meta.current.pageCount < pageCount / 2)
    try core.withWriterLock { permit in core.space.cutFile(keeping: 0, permit) }
    #expect(try #require(disk.bytes(of: "/db")).count >= Int(pageCount) * 512)
    for cut in imagesOfCutOpening(of: disk.processKillImage()) { #expect(try rowCount(cut) == 40) }
    try put(0..<1, in: engine)
    try core.withWriterLock { permit in core.space.cutFile(keeping: 0, permit) }
    #expect(try #require(disk.bytes(of: "/db")).count < Int(pageCount) * 512)
    #expect(try rowCount(disk.processKillImage()) == 40)
  }

  /// The mark of the newest meta page stands in the page cache alone: two power cuts later the page before it may be
  /// the only one.
  @Test("A recovery on a full disk writes over nothing that the meta page before the newest leads to")
  func recoveryOnFullDisk() throws {
    let disk = SimulatedDisk()
    let engine = try open(disk)
    let checkpointer = engine.core.checkpointer
    try put(0..<200, in: engine)
    try engine.checkpoint()
    try put(0..<200, in: engine)
    let marking = Latch<SimulatedDisk?>(nil)
    disk.interceptOnce(where: { Self.isLog($0, .synchronize) && checkpointer.stage == .mark }) { [unowned disk] _ in
      marking.withLock { $0 = disk.processKillImage() }
      return nil
    }
    try #require(engine.core.beginCheckpointInTransaction())
    while checkpointer.stage != .segment { try #require(checkpointer.step()) }
    try put(0..<50, in: engine)
    while checkpointer.step() {}
    disk.removeInterceptors()
    let image = try #require(marking.withLock { $0 })
    let file = try image.open("/db", .readWrite)
    try file.resize(to: Int(engine.core.meta.current.pageCount) * 512)
    try file.synchronize()
    file.close()
    image.capacity = image.usedByteCount
    image.interceptOnce(where: Self.isMetaPage) { _ in .error(SystemCode.inputOutput) }
    let told = #expect(throws: StorageError.self) { _ = try open(image) }
    #expect(told?.code == .diskFull)
    let cut = image.crashImage(.allOld)
    cut.capacity = nil
    for again in imagesOfCutOpening(of: cut) { #expect(try rowCount(again) == 200) }
  }
}
