// What returned is kept, and what did not is gone as a whole.

import Quire
import QuireTesting
import Testing
import YapCompat

@Suite struct CrashTests {
  private func open(_ disk: SimulatedDisk, seed: UInt64, logLimit: Int? = nil) throws -> YapDatabase {
    var options = Database.Options(durability: .full, maintainsWhenIdle: false)
    if let logLimit { options.logLimit = logLimit }
    let database = YapDatabase(try disk.openDatabase(seed: seed, options))
    YapFixture.register(database)
    return database
  }

  /// Moves "an amount" between two rows, with a third that counts, so that half a transaction shows.
  private func transfer(_ connection: YapDatabaseConnection, _ number: Int) throws {
    try connection.readWrite { transaction in
      func amount(_ key: String) -> Int {
        Int(transaction.object(forKey: key, inCollection: "accounts") as? String ?? "0") ?? 0
      }
      transaction.setObject("\(amount("a") - number)", forKey: "a", inCollection: "accounts", withMetadata: "\(number)")
      transaction.setObject("\(amount("b") + number)", forKey: "b", inCollection: "accounts", withMetadata: "\(number)")
      transaction.setObject("x", forKey: "entry\(number)", inCollection: "book")
    }
  }

  private func check(_ connection: YapDatabaseConnection, atLeast count: Int, atMost most: Int) throws {
    try connection.read { transaction in
      let entries = Int(transaction.numberOfKeys(inCollection: "book"))
      #expect(entries >= count && entries <= most)
      guard entries > 0 else { return }
      let (a, b) = (
        transaction.object(forKey: "a", inCollection: "accounts") as? String,
        transaction.object(forKey: "b", inCollection: "accounts") as? String
      )
      let sum = (1...entries).reduce(0, +)
      #expect(a == "\(-sum)" && b == "\(sum)")
      #expect(transaction.metadata(forKey: "a", inCollection: "accounts") as? String == "\(entries)")
    }
  }

  @Test(
    "A crash at any moment keeps every commit that returned, whole", arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
  func committedRowsSurvive(seed: UInt64) throws {
    var dice = SeededRandom(seed: seed)
    var disk = SimulatedDisk()
    var count = 0
    for round in 0..<5 {
      let database = try open(disk, seed: dice.next())
      let connection = database.newConnection()
      try check(connection, atLeast: count, atMost: count)
      for _ in 0...dice.below(6) {
        count += 1
        try transfer(connection, count)
      }
      if round.isMultiple(of: 2) { try database.quire.checkpoint() }
      let image = disk.crashImage(.random(dice.next()))
      try database.close()
      disk = image
    }
    try check(try open(disk, seed: dice.next()).newConnection(), atLeast: count, atMost: count)
  }

  @Test("Power that goes in the middle of a commit leaves all of it or nothing", arguments: 1...40)
  func halfACommitIsNone(change: Int) throws {
    let disk = SimulatedDisk()
    let database = try open(disk, seed: 7)
    let connection = database.newConnection()
    try transfer(connection, 1)
    disk.powerOff(beforeChange: change)
    var count = 1
    var begun = 1
    do {
      while begun < 30 {
        begun += 1
        try transfer(connection, begun)
        count = begun
      }
    } catch {}
    let image = disk.crashImage(.random(UInt64(change)))
    let next = try open(image, seed: 8)
    try check(next.newConnection(), atLeast: count, atMost: begun)
    try next.quire.verify()
  }

  @Test("A block that failed leaves nothing, also after a crash") func rolledBackRowsStayAway() throws {
    let disk = SimulatedDisk()
    let database = try open(disk, seed: 1)
    let connection = database.newConnection()
    try transfer(connection, 1)
    #expect(
      errorCode {
        try connection.readWrite { transaction in
          transaction.setObject("x", forKey: "entry2", inCollection: "book")
          transaction.setObject(7, forKey: "entry3", inCollection: "book")
        }
      } == .collectionMismatch)
    try connection.readWrite { transaction in
      transaction.setObject("x", forKey: "entry2", inCollection: "book")
      transaction.rollback()
    }
    let image = disk.crashImage(.random(3))
    try check(try open(image, seed: 2).newConnection(), atLeast: 1, atMost: 1)
  }

  @Test("A full disk is the error of the transaction that met it") func aFullDiskIsAnError() throws {
    let disk = SimulatedDisk()
    // A log that needs space soon.
    let database = try open(disk, seed: 1, logLimit: TestSize.isFull ? nil : 8 << 20)
    let connection = database.newConnection()
    try transfer(connection, 1)
    disk.fill(duringOperations: 0..<Int.max)
    var code: DatabaseError.Code?
    let long = String(repeating: "long ", count: 20_000)
    for number in 0..<200 where code == nil {
      code = errorCode {
        try connection.readWrite { transaction in
          for row in 0..<10 { transaction.setObject("\(row)\(long)", forKey: "\(number)-\(row)", inCollection: "long") }
        }
      }
    }
    #expect(code == .diskFull)
    disk.fill(duringOperations: 0..<0)
    try transfer(connection, 2)
    try check(connection, atLeast: 2, atMost: 2)
  }
}
