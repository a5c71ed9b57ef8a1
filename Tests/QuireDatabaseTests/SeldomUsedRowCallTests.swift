// Forms of calls that other suites do not come by, and texts of JSON that few write.

import QuireDatabase
import QuireTesting
import Testing

@Suite struct SeldomUsedRowCallTests {
  @Test func rangesOfKeysByEitherEnd() throws {
    let db = try Database.inMemory()
    let letters = RowCollection<String, String>.texts("letters")
    try db.write { tx throws in
      for key in ["a", "b", "ba", "c"] { try tx[letters].set(key.uppercased(), metadata: "m" + key, for: key) }
    }
    try db.read { tx throws in
      let rows = tx[letters]
      #expect(try rows.count(from: "b", upTo: "c") == 2 && rows.count(from: "b") == 3 && rows.count(upTo: "b") == 1)
      #expect(rows.rows(from: "b").map(\.key) == ["b", "ba", "c"] && rows.rows(upTo: "b").map(\.key) == ["a"])
      #expect(Array(rows.rows(prefix: "b").objects) == ["B", "BA"])
      #expect(rows.metadata(prefix: "b").map(\.metadata) == ["mb", "mba"])
    }
    try db.close()
  }

  /// Rows that are found by their numbers alone.
  private final class Odd: SelectedRows {
    var description: String { "odd" }
    func cost(upTo limit: Int) throws -> Int? { 3 }
    func rowIDs() throws -> [RowID] { [RowID(1), RowID(3), RowID(3), RowID(5)] }
  }

  @Test func selectedRowsAreFilteredAndWalkedByTheirNumbers() throws {
    var walked: [RowID] = []
    try Odd().forEachRowID { walked.append($0) }
    #expect(walked == [RowID(1), RowID(3), RowID(3), RowID(5)])
    #expect(try Odd().filter([RowID(2), RowID(5), RowID(1), RowID(9)]) == [RowID(5), RowID(1)])
  }

  @Test(
    "Characters beyond sixteen bits may be written as two escapes, and half of them is none",
    arguments: [
      (#""\ud83d\ude00""#, "😀"), (#""a\uD800\uDC00b""#, "a\u{10000}b"), (#""\udbff\udfff""#, "\u{10ffff}"),
      (#""\ud83d""#, nil), (#""\ud83dx""#, nil), (#""\ud83d\u0041""#, nil), (#""\ude00""#, nil),
      (#""\ud83d\ud83d""#, nil), (#""\u00e""#, nil),
    ] as [(String, String?)])
  func pairsOfEscapes(json: String, text: String?) {
    #expect((try? RowValue(json: json)) == text.map { .text($0) })
  }
}
