// What a task hands on to the closures of its transactions, which run on threads of the database's.

import QuireDatabase
import QuireStorage
import QuireTesting
import Testing

/// A value of a task's, as a server keeps the user of a request.
private enum Caller { @TaskLocal static var name = "nobody" }

private let songs = RowCollection<String, Int>("songs")

@Suite struct TaskContextTests {
  @Test("Closures of transactions see the values of the task that awaits them")
  func values() async throws {
    let db = try Database.inMemory()
    let connection = db.makeConnection()
    try await Caller.$name.withValue("ann") {
      #expect(try await db.read { _ in Caller.name } == "ann")
      #expect(try await connection.read { _ in Caller.name } == "ann")
      try await db.write { tx in try tx[songs].set(Caller.name, for: "a") }
      try await Caller.$name.withValue("bob") {
        try await connection.write { tx in try tx[songs].set(Caller.name, for: "b") }
      }
      let pin = try db.pin()
      #expect(try await pin.read { tx in try tx[songs].get("a") == Caller.name })
    }
    let seen = try await db.read { tx in try [tx[songs].get("a"), tx[songs].get("b"), Caller.name] }
    #expect(seen == ["ann", "bob", "nobody"])
  }

  @Test("What a closure expects is its test's to tell")
  func expectations() async throws {
    let db = try Database.inMemory()
    let name = Test.current?.name
    #expect(name != nil)
    #expect(try await db.read { _ in Test.current?.name } == name)
    #expect(try await db.write { _ in Test.current?.name } == name)
  }

  @Test("Threads keep nothing of a task")
  func threadsForget() async throws {
    let db = try Database.inMemory()
    for round in 0..<50 {
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for task in 0..<4 {
          group.addTask {
            try await Caller.$name.withValue("\(round)-\(task)") {
              let written = try await db.write { _ in Caller.name }
              let read = try await db.read { _ in Caller.name }
              return written == "\(round)-\(task)" && read == written
            }
          }
        }
        for try await isRight in group { #expect(isRight) }
      }
      #expect(try await db.read { _ in Caller.name } == "nobody")
    }
  }

  @Test("A closure can ask whether its task was cancelled", arguments: [false, true])
  func cancellation(writes: Bool) async throws {
    let db = try Database.inMemory()
    let hasBegun = CancellationFlag()
    let task = Task {
      let body: @Sendable () throws -> Bool = {
        hasBegun.set()
        for _ in 0..<2000 where !Task.isCancelled { Pause.sleep(microseconds: 10_000) }
        return Task.isCancelled
      }
      return writes ? try await db.write { _ in try body() } : try await db.read { _ in try body() }
    }
    while !hasBegun.isSet { await Task.yield() }
    task.cancel()
    let isCancelled = try await task.value
    #expect(isCancelled)
  }

  @Test("Jobs that are cancelled before their turn let their task end") func refused() async throws {
    let db = try Database.inMemory()
    let isLetGo = CancellationFlag()
    let holder = Task { try await db.write { _ in while !isLetGo.isSet { Pause.sleep(microseconds: 1000) } } }
    weak var witness: Witness?
    do {
      let held = Witness()
      witness = held
      let waiting = (0..<20).map { _ in
        Task { try await Caller.$name.withValue("ann") { try await db.write { _ in held.touch() } } }
      }
      for task in waiting { task.cancel() }
      for task in waiting { await #expect(throws: CancellationError.self) { try await task.value } }
    }
    #expect(witness == nil)
    isLetGo.set()
    try await holder.value
  }

  @Test("Writes that are refused after their turn has come let their task end") func refusedWrites() async throws {
    let disk = SimulatedDisk()
    let db = try disk.openDatabase()
    disk.refuse(.sync)
    await #expect(throws: DatabaseError.self) { try await db.write { tx in try tx[songs].set("a", for: "a") } }
    weak var witness: Witness?
    do {
      let held = Witness()
      witness = held
      for _ in 0..<10 {
        await #expect(throws: DatabaseError.self) {
          try await Held.$witness.withValue(held) { try await db.write { _ in Issue.record("nothing is written") } }
        }
      }
    }
    for _ in 0..<1000 where witness != nil { try await Task.sleep(for: .milliseconds(2)) }
    #expect(witness == nil)
  }

  private enum Held { @TaskLocal static var witness: Witness? }

  /// Something that a closure, or a task's value, holds.
  private final class Witness: Sendable { func touch() {} }
}
