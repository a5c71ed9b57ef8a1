// The verbs of transactions, connections, types, readers and items.

import Foundation
import Testing
import YapCompat
import YapExtensions

@Suite struct VerbTests {
  private let fixture: Fixture
  private var connection: YapDatabaseConnection { fixture.connection }
  private let items = [Samples.vodka, Samples.gin, Samples.rum]
  /// The identifiers in the order of keys.
  private let sorted = ["gin-123", "rum-123", "vodka-123"]

  init() throws {
    fixture = try Fixture()
    try fixture.connection.write(items)
  }

  @Test("A transaction reads and writes") func transaction() throws {
    let index = Samples.vodka.index
    try connection.write { transaction in
      let one: Product? = transaction.readAtIndex(index)
      let some: [Product] = transaction.readAtIndexes([index, Product.indexWithKey("none"), Samples.gin.index])
      let byKey: Product? = transaction.readByKey("rum-123")
      let byKeys: [Product] = transaction.readByKeys(["rum-123", "none", "gin-123"])
      let all: [Product] = transaction.readAll()
      let (existing, missing): ([Product], [String]) = transaction.filterExisting(["a", "gin-123", "b"])
      #expect(one == Samples.vodka && some == [Samples.vodka, Samples.gin] && byKey == Samples.rum)
      #expect(byKeys == [Samples.rum, Samples.gin] && all.map(\.identifier) == sorted)
      #expect(existing == [Samples.gin] && missing == ["a", "b"])
      transaction.remove(Samples.vodka)
      transaction.removeAtIndex(Samples.gin.index)
      #expect((transaction.readAll() as [Product]) == [Samples.rum])
      transaction.remove([Samples.rum])
      #expect((transaction.readAll() as [Product]).isEmpty)
      #expect(transaction.write(items) == items)
      #expect((transaction.readByKey("none") as Product?) == nil)
    }
  }

  @Test("A connection reads and writes, in a transaction for each call") func connectionVerbs() throws {
    let one: Product? = try connection.readAtIndex(Samples.vodka.index)
    let some: [Product] = try connection.readAtIndexes([Samples.vodka.index, Samples.gin.index])
    let byKey: Product? = try connection.readByKey("rum-123")
    let byKeys: [Product] = try connection.readByKeys(["rum-123", "none"])
    let all: [Product] = try connection.readAll()
    let (existing, missing): ([Product], [String]) = try connection.filterExisting(["gin-123", "b"])
    #expect(one == Samples.vodka && some == [Samples.vodka, Samples.gin] && byKey == Samples.rum)
    #expect(byKeys == [Samples.rum] && all.map(\.identifier) == sorted && existing == [Samples.gin])
    #expect(missing == ["b"])
    try connection.remove(Samples.vodka)
    try connection.removeAtIndexes([Samples.gin.index])
    #expect((try connection.readAll() as [Product]) == [Samples.rum])
    try connection.removeAtIndex(Samples.rum.index)
    #expect(try connection.write(Samples.vodka) == Samples.vodka)
    try connection.remove([Samples.vodka])
    #expect((try connection.readAll() as [Product]).isEmpty)
  }

  @Test("Curried verbs are what connections take") func curried() throws {
    let item = try connection.read(Product.readByKey("vodka-123"))
    #expect(item == Samples.vodka)
    #expect(try connection.read(Product.readAtIndex(Samples.gin.index)) == Samples.gin)
    #expect(try connection.read(Product.readAtIndexes([Samples.gin.index])) == [Samples.gin])
    #expect(try connection.read(Product.readByKeys(["none", "rum-123"])) == [Samples.rum])
    #expect(try connection.read(Product.readAll()).map(\.identifier) == sorted)
    #expect(try connection.read(Product.filterExisting(["none", "rum-123"])).missing == ["none"])
    try connection.write(Samples.vodka.remove())
    let result = try connection.write(Samples.vodka.write())
    #expect(result == Samples.vodka)
    try connection.write(items.remove())
    #expect(try connection.write(items.write()) == items)
    let employee = Employee(id: "e1", name: "John")
    #expect(try connection.write(employee.write()) === employee)
    #expect(try connection.readWrite(items.write()) == items)
  }

  @Test("Readers read from connections, and from transactions without an error") func readers() throws {
    #expect(try Product.read(connection).byKey("vodka-123") == Samples.vodka)
    #expect(try Product.read(connection).atIndex(Samples.gin.index) == Samples.gin)
    #expect(try Product.read(connection).atIndexes([Samples.gin.index]) == [Samples.gin])
    #expect(try Product.read(connection).byKeys(["none", "rum-123"]) == [Samples.rum])
    #expect(try Product.read(connection).all().map(\.identifier) == sorted)
    #expect(try Product.read(connection).filterExisting(["none", "rum-123"]).existing == [Samples.rum])
    try connection.read { transaction in
      #expect(Product.read(transaction).byKey("vodka-123") == Samples.vodka)
      #expect(Product.read(transaction).all().count == 3)
    }
  }

  @Test("Items write and remove themselves") func itemVerbs() throws {
    try items.remove(connection)
    #expect(try Product.read(connection).all().isEmpty)
    #expect(try items.write(connection) == items)
    try Samples.rum.remove(connection)
    #expect(try Product.read(connection).all().count == 2)
    #expect(try Samples.rum.write(connection) == Samples.rum)
    try connection.write { transaction in
      Samples.rum.remove(transaction)
      [Samples.gin].remove(transaction)
      #expect(Product.read(transaction).all() == [Samples.vodka])
      #expect(Samples.gin.write(transaction) == Samples.gin && items.write(transaction) == items)
    }
  }
}

@Suite(.timeLimit(.minutes(1))) struct AsyncVerbTests {
  private let fixture: Fixture
  private var connection: YapDatabaseConnection { fixture.connection }
  private let items = [Samples.vodka, Samples.gin]
  private let queue = DispatchQueue(label: "completion")

  init() throws { fixture = try Fixture() }

  /// What a verb hands to its completion block, and whether that runs on its queue.
  private func completed<Value: Sendable>(
    _ start: (@escaping @Sendable (Value) -> Void) -> Void
  ) async throws -> Value {
    let key = DispatchSpecificKey<Bool>()
    queue.setSpecific(key: key, value: true)
    // A stream ends when the time is up.
    let (values, continuation) = AsyncStream<(Value, Bool)>.makeStream()
    start { continuation.yield(($0, DispatchQueue.getSpecific(key: key) == true)) }
    var iterator = values.makeAsyncIterator()
    let (value, isThere) = try #require(await iterator.next())
    #expect(isThere)
    return value
  }

  @Test("Completion blocks get what was written and read, on their queue") func blocks() async throws {
    #expect(try await completed { connection.asyncWrite(items, queue: queue, completion: $0) } == items)
    #expect(try await completed { items.asyncWrite(connection, queue: queue, completion: $0) } == items)
    #expect(try await completed { Samples.rum.asyncWrite(connection, queue: queue, completion: $0) } == Samples.rum)
    #expect(try await completed { connection.asyncWrite(Samples.rum, queue: queue, completion: $0) } == Samples.rum)
    let key = Samples.rum.key
    #expect(try await completed { connection.asyncReadByKey(key, queue: queue, completion: $0) } == Samples.rum)
    let index = Samples.gin.index
    #expect(try await completed { connection.asyncReadAtIndex(index, queue: queue, completion: $0) } == Samples.gin)
    #expect(
      try await completed { connection.asyncReadAtIndexes([index], queue: queue, completion: $0) } == [Samples.gin])
    #expect(try await completed { connection.asyncReadByKeys([key], queue: queue, completion: $0) } == [Samples.rum])
    let all: [Product] = try await completed { connection.asyncReadAll(queue: queue, completion: $0) }
    #expect(all.count == 3)
    let found: (existing: [Product], missing: [String]) = try await completed {
      connection.asyncFilterExisting(["none", key], queue: queue, completion: $0)
    }
    #expect(found.existing == [Samples.rum] && found.missing == ["none"])
    // The curried verbs, too.
    #expect(
      try await completed { connection.asyncRead(Product.readByKey(key), queue: queue, completion: $0) } == Samples.rum)
    #expect(
      try await completed { connection.asyncWrite(Samples.gin.write(), queue: queue, completion: $0) } == Samples.gin)
  }

  @Test("Removals call back when they are durable") func removals() async throws {
    _ = try await completed {
      connection.asyncWrite([Samples.vodka, Samples.gin, Samples.rum], queue: queue, completion: $0)
    }
    try await completed { done in connection.asyncRemove(Samples.vodka, queue: queue) { done(()) } }
    try await completed { done in connection.asyncRemoveAtIndex(Samples.gin.index, queue: queue) { done(()) } }
    let left: [Product] = try await connection.readAll()
    #expect(left == [Samples.rum])
    try await completed { done in Samples.rum.asyncRemove(connection, queue: queue) { done(()) } }
    try await completed { done in items.asyncRemove(connection, queue: queue) { done(()) } }
    #expect(try await connection.readAll() as [Product] == [])
  }

  @Test("What fails is told to `onError`, and not completed") func failures() async throws {
    let database = fixture.database
    let (reports, continuation) = AsyncStream<String>.makeStream()
    database.onError = { continuation.yield("\($0)") }
    let unregistered = Unregistered(identifier: "u1")
    connection.asyncWrite(unregistered, queue: queue) { _ in continuation.yield("written") }
    connection.asyncReadByKey("u1", queue: queue) { (_: Unregistered?) in continuation.yield("read") }
    // All that was called before is over.
    _ = try await completed { connection.asyncWrite(Samples.rum, queue: queue, completion: $0) }
    await withCheckedContinuation { done in queue.async { done.resume() } }
    continuation.finish()
    var messages: [String] = []
    for await report in reports { messages.append(report) }
    #expect(messages.count == 2)
    for message in messages { #expect(message.contains("database.register(Unregistered.self)")) }
  }

  @Test("With `await`, and errors that are thrown") func awaited() async throws {
    #expect(try await connection.write(items) == items)
    #expect(try await connection.write(Samples.rum) == Samples.rum)
    let (one, byKey): (Product?, Product?) = (
      try await connection.readAtIndex(Samples.gin.index), try await connection.readByKey("none")
    )
    #expect(one == Samples.gin && byKey == nil)
    let some: [Product] = try await connection.readAtIndexes([Samples.rum.index])
    let byKeys: [Product] = try await connection.readByKeys(["vodka-123"])
    #expect(some == [Samples.rum] && byKeys == [Samples.vodka])
    let found: (existing: [Product], missing: [String]) = try await connection.filterExisting(["x", "gin-123"])
    #expect(found.existing == [Samples.gin] && found.missing == ["x"])
    try await connection.removeAtIndex(Samples.gin.index)
    try await connection.removeAtIndexes([Samples.rum.index])
    try await connection.remove(Samples.vodka)
    try await connection.remove(items)
    #expect(try await connection.readAll() as [Product] == [])
    await #expect(throws: (any Error).self) { try await connection.write(Unregistered(identifier: "u1")) }
  }
}

/// A type that no test registers.
struct Unregistered: YapExtensions.Persistable, Codable {
  static let collection = "Unregistered"
  let identifier: Identifier
}
