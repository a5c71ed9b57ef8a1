// Stored fields that the type of today does not read.

import Foundation
import Logging
import QuireDatabase
import QuireTesting
import Testing

/// Keeps what is logged.
private struct KeptLog: LogHandler {
  let lines: Recorder
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.warning

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let values = event.metadata ?? [:]
    let keys = ["collection", "half", "type", "field"]
    lines.append(keys.map { values[$0].map { "\($0)" } ?? "?" }.joined(separator: " "))
  }
}

@Suite("Fields that nobody reads") struct UnknownFieldTests {
  private struct Old: Codable, Sendable { var title = "Naima", old = "text", seconds = 1, inner = OldInner() }
  private struct OldInner: Codable, Sendable { var a = 1, b = 2 }
  private struct New: Codable, Sendable, Equatable { var title: String, new: String?, seconds: Int, inner: NewInner }
  private struct NewInner: Codable, Sendable, Equatable { var a: Int }

  private let folder: TestFolder
  private let lines = Recorder()

  init() throws { folder = try TestFolder() }

  private var options: Database.Options {
    let lines = lines
    return Database.Options(logger: Logger(label: "test") { _ in KeptLog(lines: lines) })
  }

  private static let new = RowCollection<New, New>("c")

  private func fill() throws {
    let db = try folder.open()
    try db.write { tx throws in
      for key in ["a", "b"] { try tx[RowCollection<Old, Old>("c")].set(Old(), metadata: Old(), for: key) }
    }
    try db.close()
  }

  @Test("A renamed field is told of once for each type and field, of objects and metadata") func told() throws {
    try fill()
    let db = try Database(at: folder.path, options: options)
    for _ in 0..<3 {
      let found = try db.read { tx throws in try tx[Self.new].get("a") }
      #expect(found == New(title: "Naima", new: nil, seconds: 1, inner: NewInner(a: 1)))
      try db.write { tx throws in _ = try tx[Self.new].update("b") { $0.seconds += 1 } }
    }
    #expect(lines.values.sorted() == ["c object New old", "c object NewInner b"])
    _ = try db.read { tx throws in try tx[Self.new].metadata("a") }
    #expect(
      lines.values.sorted() == [
        "c metadata New old", "c metadata NewInner b", "c object New old", "c object NewInner b",
      ])
    try db.close()
  }

  @Test("If asked to, reading such a row fails with its name") func refused() throws {
    try fill()
    var options = Database.Options()
    options.unknownFields = .refuse
    let db = try Database(at: folder.path, options: options)
    let error = #expect(throws: DatabaseError.self) { try db.read { tx throws in try tx[Self.new].get("a") } }
    #expect(error?.code == .decodingFailed && error?.collection == "c" && error?.key == "a")
    let cause = error?.cause.map { "\($0)" } ?? ""
    #expect(cause.contains("«old»") || cause.contains("«b»"))
    #expect(throws: DatabaseError.self) {
      try db.write { tx throws in _ = try tx[Self.new].update("a") { $0.seconds += 1 } }
    }
    try db.close()
    let again = try folder.open()
    #expect(try again.read { tx throws in try tx[RowCollection<Old, Old>("c")].get("a")?.old } == "text")
    try again.close()
  }

  /// A type that reads its fields in another order than it writes them.
  private struct Backwards: Codable, Sendable {
    var x = 1, y = 2, z: Int?
    enum CodingKeys: CodingKey { case x, y, z }
    init() {}
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      z = try container.decodeIfPresent(Int.self, forKey: .z)
      y = try container.decode(Int.self, forKey: .y)
      x = try container.decode(Int.self, forKey: .x)
    }
  }

  private struct Wrapper: Codable, Sendable {
    var value = Old()
    init() {}
    init(from decoder: any Decoder) throws { value = try decoder.singleValueContainer().decode(Old.self) }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(value)
    }
  }

  private enum Shape: Codable, Sendable { case circle(radius: Int), square(side: Int, isFilled: Bool) }

  private struct Many: Codable, Sendable {
    var backwards = Backwards(), wrapper = Wrapper()
    var shapes = [Shape.square(side: 1, isFilled: true), .circle(radius: 2)]
    var names = ["a": 1, "b": 2], url = URL(string: "https://example.org"), nothing: Int?
    var optional: Int? = 3, decimal = Decimal(1), range = 1..<2
  }

  @Test("Nothing is told of types that read all that they write, in whatever way", arguments: [false, true])
  func knownFields(isStrict: Bool) throws {
    var options = options
    if isStrict { options.unknownFields = .refuse }
    let db = try Database(at: folder.path, options: options)
    let many = RowCollection<Many, Backwards>("many")
    try db.write { tx throws in
      for key in ["a", "b"] { try tx[many].set(Many(), metadata: Backwards(), for: key) }
    }
    try db.read { tx throws in
      for row in tx[many].rows { _ = (row.object, row.metadata) }
    }
    #expect(lines.values.isEmpty)
    try db.close()
  }

  // MARK: Fields that are not a value's own

  private struct Triple: Codable, Sendable { var x = 1, gone = 2, y = 3 }
  private struct Pair: Codable, Sendable { var x: Int, y: Int }
  private enum OldShape: Codable, Sendable { case square(x: Int, gone: Int, y: Int), none(gone: Int) }
  private enum NewShape: Codable, Sendable { case square(x: Int, y: Int), none }

  /// Reads a part of a value in a container by hand.
  private struct ByHand: Codable, Sendable {
    enum Outer: CodingKey { case inner }
    enum Inner: CodingKey { case x, y }
    init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: Outer.self).nestedContainer(keyedBy: Inner.self, forKey: .inner)
      _ = try (values.decode(Int.self, forKey: .x), values.decode(Int.self, forKey: .y))
    }
    func encode(to encoder: any Encoder) throws {}
  }

  /// Hands a value on to a type that reads a part of it.
  private struct ByDecoder: Codable, Sendable {
    init(from decoder: any Decoder) throws {
      _ = try Pair(from: decoder.container(keyedBy: ByHand.Outer.self).superDecoder(forKey: .inner))
    }
    func encode(to encoder: any Encoder) throws {}
  }

  /// Reads all of a value in two containers and a decoder.
  private struct Shared: Codable, Sendable {
    enum First: CodingKey { case y }
    enum Second: CodingKey { case gone }
    init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: ByHand.Outer.self)
      _ = try values.nestedContainer(keyedBy: First.self, forKey: .inner).decode(Int.self, forKey: .y)
      _ = try values.nestedContainer(keyedBy: Second.self, forKey: .inner).decode(Int.self, forKey: .gone)
      _ = try Pair(from: values.superDecoder(forKey: .inner))
    }
    func encode(to encoder: any Encoder) throws {}
  }

  private struct Holder<Value: Codable & Sendable>: Codable, Sendable { var inner: Value }

  // Sendable: safe because it is never changed.
  private class Base: Codable, @unchecked Sendable {
    var x = 1, gone = 2
    init() {}
  }
  // Sendable: safe because it is never changed.
  private final class Sub: Base, @unchecked Sendable {
    var y = 3
    override init() { super.init() }
    required init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: Keys.self)
      y = try values.decode(Int.self, forKey: .y)
      try super.init(from: values.superDecoder())
    }
    override func encode(to encoder: any Encoder) throws {
      var values = encoder.container(keyedBy: Keys.self)
      try values.encode(y, forKey: .y)
      try super.encode(to: values.superEncoder())
    }
    enum Keys: CodingKey { case y }
  }
  // Sendable: safe because it is never changed.
  private class NewBase: Codable, @unchecked Sendable { var x: Int }
  // Sendable: safe because it is never changed.
  private final class NewSub: NewBase, @unchecked Sendable {
    required init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: Sub.Keys.self)
      _ = try values.decode(Int.self, forKey: .y)
      try super.init(from: values.superDecoder())
    }
  }

  /// The fields that reading a value of one type as another tells of.
  private func untold<Old: Codable & Sendable, New: Codable & Sendable>(_ old: Old, _: New.Type) throws -> [String] {
    let folder = try TestFolder()
    let (lines, name) = (Recorder(), "c")
    let options = Database.Options(logger: Logger(label: "test") { _ in KeptLog(lines: lines) })
    var db = try Database(at: folder.path, options: options)
    try db.write { tx throws in try tx[RowCollection<Old, NoMetadata>(name)].set(old, for: "a") }
    try db.close()
    db = try Database(at: folder.path, options: options)
    _ = try db.read { tx throws in try tx[RowCollection<New, NoMetadata>(name)].get("a") }
    try db.close()
    // What is told is what is refused.
    var strict = Database.Options()
    strict.unknownFields = .refuse
    db = try Database(at: folder.path, options: strict)
    let code = try? db.read { tx throws in try tx[RowCollection<New, NoMetadata>(name)].get("a") }
    #expect((code == nil) == !lines.values.isEmpty)
    try db.close()
    return lines.values
  }

  @Test("Payloads, nested containers and what superclasses read are watched, too") func nested() throws {
    #expect(try untold(OldShape.square(x: 1, gone: 2, y: 3), NewShape.self) == ["c object NewShape gone"])
    #expect(try untold(OldShape.none(gone: 2), NewShape.self) == ["c object NewShape gone"])
    #expect(try untold([OldShape.square(x: 1, gone: 2, y: 3)], [NewShape].self) == ["c object NewShape gone"])
    #expect(try untold(Holder(inner: Triple()), ByHand.self) == ["c object ByHand gone"])
    #expect(try untold(Holder(inner: Triple()), ByDecoder.self) == ["c object ByDecoder gone"])
    #expect(try untold(Sub(), NewSub.self) == ["c object NewSub gone"])
  }

  @Test("Nothing is told of what several containers read together") func shared() throws {
    #expect(try untold(Holder(inner: Triple()), Shared.self) == [])
    #expect(try untold(Sub(), Sub.self) == [])
    #expect(try untold(Holder(inner: OldShape.none(gone: 1)), Holder<OldShape>.self) == [])
  }
}
