// What coders tell the values that they encode and decode.

import QuireDatabase
import QuireTesting
import Testing

extension CodingUserInfoKey {
  fileprivate static let suffix = CodingUserInfoKey(rawValue: "suffix").unsafelyUnwrapped
}

/// Reads and writes its text with what the coder tells it.
private struct Told: Codable, Sendable, Equatable {
  var text: String

  init(_ text: String) { self.text = text }

  init(from decoder: any Decoder) throws {
    var container = try decoder.unkeyedContainer()
    text = try container.decode(Inner.self).text
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    try container.encode(Inner(text: text))
  }

  /// A value inside of the value.
  struct Inner: Codable {
    var text: String

    init(text: String) { self.text = text }

    init(from decoder: any Decoder) throws {
      let suffix = decoder.userInfo[.suffix] as? String ?? "?"
      text = try decoder.singleValueContainer().decode(String.self) + " read" + suffix
    }

    func encode(to encoder: any Encoder) throws {
      let suffix = encoder.userInfo[.suffix] as? String ?? "?"
      var container = encoder.singleValueContainer()
      try container.encode(text + " stored" + suffix)
    }
  }
}

@Suite struct CoderUserInfoTests {
  let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private static func rows(_ kind: Int, _ suffix: String?) -> RowCollection<Told, NoMetadata> {
    let coder: RowCoder<Told> = [.binary, .json, .propertyList][kind]
    let name = ["binary", "json", "list"][kind]
    guard let suffix else { return .init(name, coder: coder) }
    return .init(name, coder: coder.withUserInfo([.suffix: suffix]))
  }

  @Test("Values inside of others see it while they are stored and read", arguments: 0..<3)
  func seen(_ kind: Int) throws {
    let db = try folder.open()
    try db.write { tx throws in
      try tx[Self.rows(kind, "1")].set(Told("a"), for: "k")
      #expect(try tx[Self.rows(kind, "1")].get("k") == Told("a stored1 read1"))
    }
    #expect(try db.read { tx in try tx[Self.rows(kind, "1")].get("k") } == Told("a stored1 read1"))
  }

  @Test("A later transaction goes by its own description, with memory that served another", arguments: 0..<3)
  func ownDescription(_ kind: Int) throws {
    let db = try folder.open()
    try db.write { tx in try tx[Self.rows(kind, "1")].set(Told("a"), for: "k") }
    for suffix in ["1", "2", nil, "1"] {
      let found = try db.read { tx in try tx[Self.rows(kind, suffix)].get("k") }
      #expect(found == Told("a stored1 read\(suffix ?? "?")"))
    }
  }

  @Test("Upgrades see it") func upgrades() throws {
    let first = try folder.open()
    try first.write { tx in try tx[Self.rows(0, "1")].set(Told("a"), for: "k") }
    try first.close()
    let upgraded = RowCollection<String, NoMetadata>(
      "binary",
      coder: .binary.upgrading(from: Told.self) { old in old.text }.withUserInfo([.suffix: "3"]))
    let db = try folder.open()
    #expect(try db.read { tx in try tx[upgraded].get("k") } == "a stored1 read3")
  }

  @Test("Changes of a feed are read with it") func feeds() throws {
    let feed = ChangeFeed("all", keeping: .newValues)
    let db = try Database.inMemory(options: Database.Options(feeds: [feed]))
    try db.write { tx in try tx[Self.rows(1, "1")].set(Told("a"), for: "k") }
    let batch = try #require(try db.nextChanges(of: feed, after: nil, mode: .log))
    for suffix in ["2", nil] {
      let change = try #require(try batch.changes(in: Self.rows(1, suffix)).first)
      #expect(try change.new?.object == Told("a stored1 read\(suffix ?? "?")"))
    }
  }
}
