// What maintenance does, phase by phase, in transactions of whatever hosts it.

import QuireTesting
import Testing

@testable import QuireStorage

@Suite struct MaintainerTests {
  /// An engine of which maintenance gets no transaction.
  private final class RefusingHost: MaintenanceHost {
    let error = StorageError(.diskFull, "There is no room.")
    func rearrange(
      _ body: (WriteContext, borrowing WriterPermit) throws(StorageError) -> Bool
    ) throws(StorageError) { throw error }
    func reservePlaces(forExtent count: Int, isWrittenNow: Bool) throws(StorageError) -> Bool { throw error }
  }

  private func open() throws -> (engine: StorageEngine, tree: Tree) {
    let engine = try SimulatedDisk().openEngine(StorageOptions(pageSize: 512))
    return (engine, try engine.write { tx in try tx.createTree("t", keys: .int64) })
  }

  /// Puts rows, and removes nine of ten.
  private func openSparse() throws -> (engine: StorageEngine, tree: Tree) {
    let (engine, tree) = try open()
    try engine.write { tx in
      for key in 0..<4000 { try tx.put([UInt8](marked: key, count: 60), for: Int64(key), in: tree) }
    }
    try engine.checkpoint()
    try engine.write { tx in for key in 0..<4000 where key % 10 != 0 { try tx.delete(Int64(key), in: tree) } }
    try engine.checkpoint()
    return (engine, tree)
  }

  private func pass(_ engine: StorageEngine) throws -> MaintenancePass {
    try engine.core.withWriterLock { permit in engine.core.maintainer.pass(permit) }
  }

  /// The name of a phase.
  private func name(_ phase: MaintenancePass.Phase) -> String {
    switch phase {
    case .idle: "idle"
    case .pack: "pack"
    case .settle: "settle"
    case .relocate: "relocate"
    case .vacate: "vacate"
    case .cut: "cut"
    }
  }

  @Test("There is nothing to gain in a small database, and it is not looked at twice")
  func nothingToDo() throws {
    let (engine, _) = try open()
    var steps = 0
    while try engine.core.maintainStep() { steps += 1 }
    #expect(steps <= 2)
    let finished = engine.statistics.checkpoints
    #expect(try !engine.core.maintainStep() && engine.statistics.checkpoints == finished)
    try engine.close()
  }

  @Test("A pass packs, settles, moves, vacates and cuts, and changes no content", arguments: [true, false])
  func phases(packs: Bool) throws {
    let (engine, _) = try openSparse()
    let content = try DatabaseContent(of: engine)
    let pageCount = engine.core.allocator.pageCount
    // Commits have packed their own leaves: without this there are none to pack.
    if packs {
      var pass = MaintenancePass()
      pass.phase = .pack(tree: TreeID(1), key: nil)
      try engine.core.withWriterLock { permit in engine.core.maintainer.setPass(pass, permit) }
    }
    var phases: [String] = []
    var hasMore = true
    while hasMore {
      hasMore = try engine.core.maintainStep()
      let phase = name(try pass(engine).phase)
      if phases.last != phase { phases.append(phase) }
      #expect(try DatabaseContent(of: engine) == content)
      try engine.walkEverything()
    }
    let expected = (packs ? ["pack", "settle"] : []) + ["relocate", "vacate", "cut", "idle"]
    #expect(Array(phases.drop { $0 == "idle" }) == expected)
    #expect(engine.core.allocator.pageCount < pageCount / 3)
    #expect(try pass(engine).finishedCSN == engine.core.head.csn)
    try engine.walkEverything(isCheckpointed: true)
    try engine.close()
  }

  @Test("Without a transaction the pass is over, and the next one begins anew")
  func refused() throws {
    let (engine, _) = try openSparse()
    let host = RefusingHost()
    let refusal = #expect(throws: StorageError.self) { while try engine.core.maintainer.step(host) {} }
    #expect(refusal?.code == .diskFull)
    #expect(name(try pass(engine).phase) == "idle" && engine.core.head.csn > CSN(0))
    while try engine.core.maintainStep() {}
    #expect(try pass(engine).finishedCSN == engine.core.head.csn)
    try engine.close()
  }

  @Test("Idle work begins when nobody has written between two looks")
  func idle() throws {
    let (engine, tree) = try openSparse()
    let core = engine.core
    #expect(!core.maintainer.runWhileIdle(core))
    try engine.write { tx in try tx.put([1], for: Int64(1), in: tree) }
    #expect(!core.maintainer.runWhileIdle(core), "somebody has written")
    let pageCount = core.allocator.pageCount
    #expect(core.maintainer.runWhileIdle(core) && core.allocator.pageCount < pageCount)
    try engine.close()
  }
}
