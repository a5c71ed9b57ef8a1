// Rows whose encoded forms the caller has already, and coders that are told of which row a value is.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

@Suite struct EncodedRowTests {
  let folder: TestFolder
  let db: Database
  private let plain = RowCollection<[UInt8], [UInt8]>("bytes", coder: .bytes, metadataCoder: .bytes)

  init() throws {
    folder = try TestFolder()
    db = try folder.open()
  }

  private func expect(_ key: String, _ object: [UInt8], _ metadata: [UInt8]?, _ line: UInt = #line) throws {
    let row = try db.read { tx throws in try tx[plain].row(key) }
    #expect(row?.object == object && row?.metadata == metadata, "line \(line)")
  }

  @Test("Both halves are stored as they were encoded, by set and by replace") func bothHalves() throws {
    try db.write { tx throws in
      try tx[plain].set([1], encoded: [11], metadata: [2], encodedMetadata: [22], for: "both")
      try tx[plain].set([1], encoded: nil, metadata: [2], encodedMetadata: [22], for: "metadata")
      try tx[plain].set([1], encoded: [11], metadata: nil, encodedMetadata: [22], for: "none")
      try tx[plain].set([1], metadata: [2], for: "later")
      #expect(try tx[plain].replace([3], encoded: [33], for: "later"))
      #expect(try tx[plain].replaceMetadata([4], encoded: [44], for: "later"))
      #expect(try tx[plain].replaceMetadata(nil, encoded: [44], for: "both"))
      #expect(try !tx[plain].replace([3], encoded: [33], for: "absent"))
      #expect(try !tx[plain].replaceMetadata([3], encoded: [33], for: "absent"))
    }
    try expect("both", [11], nil)
    try expect("metadata", [1], [22])
    try expect("none", [11], nil)
    try expect("later", [33], [44])
    try db.checkInvariants()
  }

  @Test("Bytes of a half that is sanitized are passed over") func sanitized() throws {
    let objects = plain.sanitizing { _, bytes in bytes.map { $0 + 1 } }
    let metadata = plain.sanitizingMetadata { _, bytes in bytes.map { $0 + 1 } }
    try db.write { tx throws in
      try tx[objects].set([1], encoded: [11], metadata: [2], encodedMetadata: [22], for: "o")
      try tx[metadata].set([1], encoded: [11], metadata: [2], encodedMetadata: [22], for: "m")
      try tx[plain].set([1], metadata: [2], for: "r")
      try tx[objects].replace([3], encoded: [33], for: "r")
      try tx[metadata].replaceMetadata([4], encoded: [44], for: "r")
    }
    try expect("o", [2], [22])
    try expect("m", [11], [3])
    try expect("r", [4], [5])
  }

  @Test("Encoded forms are compressed like any others") func compressed() throws {
    let text = [UInt8](repeating: 7, count: 5000)
    let small = RowCollection<[UInt8], [UInt8]>(
      "small", coder: .bytes, metadataCoder: .bytes, compression: .dictionary(above: 100))
    try db.write { tx throws in
      try tx[small].set([1], encoded: text, metadata: [2], encodedMetadata: text, for: "k")
      try tx[small].replaceMetadata([2], encoded: [9], for: "k")
    }
    let row = try db.read { tx throws in try tx[small].row("k") }
    #expect(row?.object == text && row?.metadata == [9])
  }

  @Test("Bytes can be made beforehand but for the compact form and for upgrades") func selfContained() {
    #expect(RowCoder<String>.json.isSelfContained && RowCoder<[String]>.propertyList.isSelfContained)
    #expect(RowCoder<Date>.timestamp.isSelfContained && RowCoder<[UInt8]>.bytes.isSelfContained)
    #expect(!RowCoder<String>.binary.isSelfContained)
    #expect(!RowCoder<String>.json.upgrading(from: Int.self) { "\($0)" }.isSelfContained)
  }

  // MARK: Coders

  /// A coder that writes down for which row it works.
  private func telling(_ half: String) -> RowCoder<String> {
    RowCoder(
      encodeAt: { text, row in Array("\(half) \(row.collection)/\(row.key)=\(text)".utf8) },
      decodeAt: { bytes, row in
        let text = String(decoding: bytes.withUnsafeBytes { Array($0) }, as: UTF8.self)
        let start = "\(half) \(row.collection)/\(row.key)="
        guard text.hasPrefix(start) else { throw Misplaced(text: text, row: "\(row.collection)/\(row.key)") }
        return String(text.dropFirst(start.count))
      })
  }

  private struct Misplaced: Error {
    var text: String
    var row: String
  }

  @Test("A custom coder is told collection and key, whichever way a row is read") func places() throws {
    for cache in [nil, ObjectCacheOptions()] {
      let folder = try TestFolder()
      let db = try folder.open(Database.Options(durability: .relaxed, objectCache: cache))
      let names = ["a", "b"].map { name in
        RowCollection<String, String>(name, coder: telling("object"), metadataCoder: telling("metadata"))
      }
      try db.write { tx throws in
        for (name, number) in names.flatMap({ name in (0..<20).map { (name, $0) } }) {
          try tx[name].set("\(number)", metadata: "m\(number)", for: "k\(number)")
        }
        try tx[names[0]].replace("new", for: "k1")
        try tx[names[0]].replaceMetadata("newer", for: "k1")
        try tx[names[0]].update("k2") { $0 += "!" }
      }
      for _ in 0..<2 {
        try db.read { tx throws in
          for name in names {
            let rows = tx[name]
            #expect(rows.rows.map(\.object).count == 20 && rows.metadata.map(\.metadata).count == 20)
            #expect(try rows.get("k3") == "3" && rows.metadata("k3") == "m3" && rows.row("k3")?.object == "3")
            #expect(try rows.rows(for: ["k4", "k5"]).map(\.object) == ["4", "5"])
            #expect(try rows.objects(for: ["k4", "k5"]) == ["4", "5"])
          }
          #expect(try tx[names[0]].get("k1") == "new" && tx[names[0]].metadata("k1") == "newer")
          #expect(try tx[names[0]].get("k2") == "2!")
          #expect(try tx.rawRows("b").row("k7")?.object == Array("object b/k7=7".utf8))
        }
      }
      try db.checkInvariants()
    }
  }

  @Test("What such a coder throws is told with the row") func failingCoder() throws {
    let rows = RowCollection<String, String>("a", coder: telling("object"), metadataCoder: telling("metadata"))
    let raw = RowCollection<String, String>(
      "a",
      coder: RowCoder(
        encode: { Array($0.utf8) },
        decode: { bytes in String(decoding: bytes.withUnsafeBytes { Array($0) }, as: UTF8.self) }),
      metadataCoder: telling("metadata"))
    try db.write { tx throws in try tx[raw].set("object a/other=1", for: "k") }
    do {
      _ = try db.read { tx throws in try tx[rows].get("k") }
      Issue.record("was read")
    } catch let error as DatabaseError {
      #expect(error.code == .decodingFailed && error.key == "k" && (error.cause as? Misplaced)?.row == "a/k")
    }
  }
}
