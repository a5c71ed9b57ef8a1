// A database that is none: what an app's own unit tests are made of.

import Dispatch
import Testing
import YapExtensions

/// Rows in memory.
private final class TestableTransaction: WriteTransactionType {
  var objects: [YapDB.Index: Any] = [:]
  var metadatas: [YapDB.Index: Any] = [:]
  var didReadAtIndexes: [YapDB.Index] = []
  var errors: [any Error] = []

  func keysInCollection(_ collection: String) -> [String] {
    objects.keys.filter { $0.collection == collection }.map(\.key).sorted()
  }

  func readAtIndex(_ index: YapDB.Index) -> Any? {
    didReadAtIndexes.append(index)
    return objects[index]
  }

  func readMetadataAtIndex(_ index: YapDB.Index) -> Any? { metadatas[index] }

  func writeAtIndex(_ index: YapDB.Index, object: Any, metadata: Any?) {
    objects[index] = object
    if let metadata { metadatas[index] = metadata }
  }

  func removeAtIndexes<Indexes: Sequence>(_ indexes: Indexes) where Indexes.Element == YapDB.Index {
    for index in indexes { (objects[index], metadatas[index]) = (nil, nil) }
  }

  func fail(_ error: any Error) { errors.append(error) }
}

private final class TestableConnection: ConnectionType {
  let transaction: TestableTransaction
  var (didRead, didWrite) = (false, false)

  init(_ transaction: TestableTransaction) { self.transaction = transaction }

  func read<Result>(_ block: (TestableTransaction) throws -> Result) throws -> Result {
    didRead = true
    return try block(transaction)
  }

  func write<Result>(_ block: (TestableTransaction) throws -> Result) throws -> Result {
    didWrite = true
    return try block(transaction)
  }

  func asyncRead<Result: Sendable>(
    _ block: @escaping @Sendable (TestableTransaction) -> Result, queue: DispatchQueue,
    completion: @escaping @Sendable (Result) -> Void
  ) {
    didRead = true
    let result = block(transaction)
    queue.async { completion(result) }
  }

  func asyncWrite<Result: Sendable>(
    _ block: @escaping @Sendable (TestableTransaction) -> Result, queue: DispatchQueue,
    completion: (@Sendable (Result) -> Void)?
  ) {
    didWrite = true
    let result = block(transaction)
    queue.async { completion?(result) }
  }
}

private struct TestableDatabase: DatabaseType {
  let connection: TestableConnection

  func makeNewConnection() -> TestableConnection { connection }
}

@Suite struct FakeTests {
  private let transaction = TestableTransaction()
  private let connection: TestableConnection

  init() {
    connection = TestableDatabase(connection: TestableConnection(transaction)).makeNewConnection()
    transaction.objects[Samples.vodka.index] = Samples.vodka.encoded
    transaction.metadatas[Samples.vodka.index] = Samples.vodka.metadata?.encoded
  }

  @Test("A transaction reads at an index with data") func transactionReads() {
    let product: Product? = transaction.readAtIndex(Samples.vodka.index)
    #expect(product == Samples.vodka)
    #expect(transaction.didReadAtIndexes == [Samples.vodka.index])
    let none: Product? = transaction.readByKey("none")
    #expect(none == nil)
  }

  @Test("A connection reads and writes") func connectionWorks() throws {
    #expect(try Product.read(connection).all() == [Samples.vodka])
    #expect(try connection.read(Product.readByKey("vodka-123")) == Samples.vodka)
    #expect(connection.didRead && !connection.didWrite)
    let written = try connection.write(Product(identifier: "vodka-123", name: "Other", barcode: .qrCode("o")))
    #expect(written.name == "Other" && written.metadata == Samples.vodka.metadata)
    #expect(connection.didWrite)
    #expect(Product.decode(transaction.objects[Samples.vodka.index])?.name == "Other")
    try Samples.vodka.remove(connection)
    #expect(transaction.objects.isEmpty && transaction.metadatas.isEmpty)
  }

  @Test("Blocks are completed") func completion() async {
    let rum = await withCheckedContinuation { continuation in
      Samples.rum.asyncWrite(connection, queue: .global()) { continuation.resume(returning: $0) }
    }
    #expect(rum == Samples.rum && connection.didWrite)
  }

  @Test("What is no item is told to the transaction") func wrongObject() {
    transaction.objects[Samples.rum.index] = 5
    let product: Product? = transaction.readAtIndex(Samples.rum.index)
    #expect(product == nil)
    #expect(transaction.errors.count == 1)
    #expect("\(transaction.errors)".contains("Int") && "\(transaction.errors)".contains("ProductCoder"))
  }
}
