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
}
