// Databases as lines of JSON and back: the same lines, and the same bytes in every row.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

@Suite struct ExportImportTests {
  /// All rows of a database as lines.
  private func export(_ db: Database) throws -> [String] {
    try db.read { tx throws in
      var lines: [String] = []
      var count = 0
      for name in tx.collections {
        let rows = tx.values(in: name)
        lines.append(RowLine.notes(collection: name, rows.notes).json)
        for row in rows { lines.append(RowLine(rows.withNeededBytes(row), of: name).json) }
        count += try rows.count()
      }
      return lines + [RowLine.end(rows: count).json]
    }
  }

  /// What is stored, to the bit: notes, keys and halves.
  private struct Image: Equatable {
    struct Row: Equatable { var key: String, object: [UInt8], metadata: [UInt8]? }
    var notes: [String: CollectionNotes] = [:]
    var rows: [String: [Row]] = [:]

    init(_ db: Database) throws {
      try db.read { tx throws in
        for name in tx.collections {
          notes[name] = tx.values(in: name).notes
          rows[name] = tx.rawRows(name).map { Row(key: $0.key, object: $0.object, metadata: $0.metadata) }
        }
      }
    }
  }

  /// Stores lines, which come in pieces of drawn lengths, in batches of drawn sizes.
  @discardableResult
  private func load(
    _ bytes: [UInt8], into db: Database, replaces: Bool = false, longestLine: Int = 1 << 20, rowCount: Int = 100,
    skip: ((BadLine) throws -> Void)? = nil
  ) throws -> (outcome: LineImport.Outcome, lines: LineImport) {
    var random = SeededRandom(seed: UInt64(bytes.count))
    var rest = bytes[...]
    var lines = LineImport(replaces: replaces, longestLine: longestLine, batchRowCount: rowCount) { most in
      let piece = rest.prefix(1 + random.below(min(most, 5000)))
      rest = rest.dropFirst(piece.count)
      return Array(piece)
    }
    while true {
      let outcome = try db.write { tx throws in try lines.storeBatch(in: tx, skip: skip) }
      if outcome != .goesOn { return (outcome, lines) }
    }
  }

  private func bytes(_ lines: [String]) -> [UInt8] { lines.flatMap { Array($0.utf8) + [10] } }

  // MARK: Identity

  @Test func exportAndImportAreTheIdentity() throws {
    var random = SeededRandom(seed: 30_000_001)
    for number in 0..<(environmentNumber("QUIRE_EXPORTS") ?? TestSize.trials(400, divisor: 40)) {
      let source = try Database.inMemory()
      try RandomDatabase.fill(source, &random)
      let lines = try export(source)
      let copy = try Database.inMemory()
      let result = try load(bytes(lines), into: copy, rowCount: 1 + random.below(60))
      try #require(result.outcome == .isComplete, "database \(number)")
      try #require(try export(copy) == lines, "database \(number)")
      try #require(try Image(copy) == Image(source), "database \(number)")
      // Over itself, too.
      try load(bytes(lines), into: copy, replaces: true)
      try #require(try Image(copy) == Image(source), "database \(number)")
      let rowCount = try source.read { tx throws in try tx.collections.reduce(0) { try $0 + tx.values(in: $1).count() }
      }
      #expect(result.lines.rowCounts.reduce(0) { $0 + $1.rows } == rowCount)
    }
  }

  /// JSON of other programs may have a name twice. A line that has it so is refused; one that was exported is not.
  @Test func rowsWithANameTwiceComeBack() throws {
    let documents = RowCollection<RowValue, RowValue>("documents", coder: .json, metadataCoder: .json)
    var deep: RowValue = .list([])
    for _ in 0..<510 { deep = ["a": 1, "a": deep] }
    let many = RowValue.record((0..<20).map { RowValue.Field("\($0 % 19)", .integer(Int128($0))) })
    let values: [RowValue] = [
      ["a": 1, "a": 2], ["b": [["$data": 1, "c": nil, "$data": 2]]], ["$record": 1, "$record": ["x": 1]], deep, many,
      ["é": 1, "e\u{301}": 2],
    ]
    let source = try Database.inMemory()
    try source.write { tx throws in
      for (number, value) in values.enumerated() { try tx[documents].set(value, metadata: value, for: "\(number)") }
    }
    let lines = try export(source)
    #expect(lines[1].contains(#""object":{"$record":["a",1,"a",2]},"metadata":{"$record":["a",1,"a",2]}"#))
    #expect(!lines.contains { $0.contains(#""bytes""#) })
    let copy = try Database.inMemory()
    #expect(try load(bytes(lines), into: copy).outcome == .isComplete)
    #expect(try export(copy) == lines && Image(copy) == Image(source))
    for part in [#"["a"]"#, #"[1,"a"]"#, #"["a",1,"b"]"#] {
      let line = #"{"collection":"c","key":"k","object":{"$record":\#(part)}}"#
      #expect(try load(Array(line.utf8), into: copy).outcome != .isComplete, "\(line)")
    }
  }

  /// Most rows need no bytes of their own: the values lead back to them.
  @Test func bytesAreTheException() throws {
    let db = try Database.inMemory()
    try db.write { tx throws in
      for number in 0..<20 {
        try tx[RowCollection<Song, PlayState>("songs")].set(
          Song("Song \(number)"), metadata: PlayState(plays: number), for: "s\(number)")
        try tx[RowCollection<Song, NoMetadata>("json", coder: .json)].set(Song("Song \(number)"), for: "s\(number)")
        try tx[RowCollection<Date, NoMetadata>("dates", coder: .timestamp)].set(Date(), for: "d\(number)")
      }
    }
    let lines = try export(db)
    #expect(lines.count == 64 && !lines.contains { $0.contains("bytes") })
    #expect(
      lines.contains(
        #"{"collection":"songs","coder":"binary","fields":["title","albumID","seconds","added"],"#
          + #""metadata coder":"binary","metadata fields":["plays"]}"#))
  }

  /// Lines of another program, with no notes: the app opens what became of them.
  @Test func linesOfOthers() throws {
    let db = try Database.inMemory()
    let lines = [
      #"{"collection":"songs","key":"a","object":{"title":"A","albumID":"x","seconds":1,"added":0.5}}"#, "", " \r",
      #"{"key":"b","collection":"songs","metadata":{"plays":2},"#
        + #""object":{"title":"B","albumID":"","seconds":1,"added":0.5}}"#,
      #"{"collection":"dates","key":"d","object":{"$date":1.5},"coder":"timestamp"}"#,
    ]
    let result = try load(Array(lines.joined(separator: "\n").utf8), into: db)
    #expect(result.outcome == .isComplete && result.lines.rowCounts.map(\.rows) == [2, 1])
    try db.write { tx throws in
      #expect(try tx[.songs].get("a")?.title == "A" && tx[.songs].row("b")?.metadata?.plays == 2)
      let dates = RowCollection<Date, NoMetadata>("dates", coder: .timestamp)
      #expect(try tx[dates].get("d") == Date(timeIntervalSinceReferenceDate: 1.5))
    }
  }

  // MARK: Hostile lines

  private static let good = #"{"collection":"c","key":"good","object":1}"#

  static let hostile: [(String, String)] = [
    (#"{"collection":"c","key":"k"}"#, "no “object”"), (#"{"collection":"c","key":1,"object":1}"#, "no text “key”"),
    (#"{"key":"k","object":1}"#, "no text “collection”"), ("7", "A line is a record"),
    (#"{"rows":-1}"#, "no number of rows"), (#"{"rows":"2"}"#, "no number of rows"),
    (#"{"rows":1,"n":1}"#, "“n” is no"),
    (#"{"rows":{"$int":"18446744073709551616"}}"#, "no number of rows"),
    (#"{"collection":"c","key":"k","object":1,"objekt":1}"#, "“objekt” is no part"),
    (#"{"collection":"c","object":1}"#, "“object” is no part"),
    (#"{"collection":"c","key":"k","object":1,"key":"l"}"#, "name twice"),
    (#"{"collection":"c","key":"k","object":{"a":1,"a":2}}"#, "name twice"),
    (#"{"collection":"c","key":"k","object":1e999}"#, "larger than any"),
    (#"{"collection":"c","key":"k","object":"\ud800"}"#, "surrogate"),
    (#"{"collection":"c","key":"\udc00","object":1}"#, "surrogate"),
    (#"{"collection":"c","key":"k","object":1"#, "neither"),
    (#"{"collection":"c","key":"k","object":{"$int":"x"}}"#, "$int"),
    (#"{"collection":"c","key":"k","object":1,"version":-1}"#, "version"),
    (#"{"collection":"c","key":"k","object":1,"version":{"$int":"18446744073709551616"}}"#, "version"),
    (#"{"collection":"c","key":"k","object":1,"version":4294967295}"#, "upgrades"),
    (#"{"collection":"c","key":"k","object":1,"coder":"xml"}"#, "is none of"),
    (#"{"collection":"c","key":"k","object":1,"bytes":1}"#, "no bytes"),
    (#"{"collection":"c","key":"k","object":1,"coder":"timestamp"}"#, "another kind"),
    (#"{"collection":"new","key":"k","object":"a","coder":"timestamp"}"#, "timestamp"),
    (#"{"collection":"c","key":"k","object":null,"encrypted with key":7}"#, "encrypted with key 7"),
    (#"{"collection":"c","key":"k","object":null,"encrypted with key":-7}"#, "no number of a key"),
    (#"{"collection":"c","key":"good","object":2}"#, "already"),
    (#"{"collection":"n","fields":["a","a"]}"# + "\n" + #"{"collection":"n","key":"k","object":1}"#, "names of fields"),
    (#"{"collection":"n","fields":[1]}"#, "list of names"), (#"{"collection":"n","coder":"json"}"#, "is none of"),
    (#"{"collection":"n","has upgrades":1}"#, "true or false"),
    (#"{"collection":"n"}"# + "\n" + #"{"collection":"n","key":"k","object":1,"coder":"JSON"}"#, "another kind"),
    (#"{"collection":"n"}"# + "\n" + #"{"collection":"n","coder":"JSON"}"#, "differ"),
    (
      #"{"collection":"c","key":"k","object":"# + String(repeating: "[", count: 100_000),
      "values are inside one another"
    ),
    (
      #"{"collection":"c","key":"k","object":"# + String(repeating: "[", count: 513)
        + String(repeating: "]", count: 513)
        + "}", "could not be encoded"
    ),
    (#"{"collection":"c","key":""# + String(repeating: "k", count: 5000) + #"","object":1}"#, "keyTooLong"),
    (#"{"collection":""# + String(repeating: "c", count: 5000) + #"","key":"k","object":1}"#, "name of the collection"),
    (#"{"collection":"c","key":"k","object":""# + String(repeating: "x", count: 2 << 20) + #""}"#, "--longest-line"),
  ]

  @Test(arguments: 0..<hostile.count) func aBadLineIsTold(index: Int) throws {
    let (line, reason) = Self.hostile[index]
    let number = 2 + line.split(separator: "\n").count - 1
    let rows = [Self.good, line, #"{"collection":"c","key":"last","object":1}"#].joined(separator: "\n")
    // Other notes are no row.
    let all = "\(rows)\n{\"rows\":\(reason == "differ" ? 2 : 3)}\n"
    let db = try Database.inMemory()
    let (outcome, _) = try load(Array(all.utf8), into: db)
    guard case .stopped(let bad) = outcome else {
      Issue.record("the line was stored: \(line.prefix(200))")
      return
    }
    #expect(bad.number == number && bad.reason.contains(reason), "\(bad)")
    #expect("\(bad)".hasPrefix("line \(number): "))
    try db.read { tx throws in #expect(tx.values(in: "c").map(\.key) == ["good"]) }
    // Passed over, and told.
    let other = try Database.inMemory()
    var told: [BadLine] = []
    let skipped = try load(Array(all.utf8), into: other) { told.append($0) }
    #expect(skipped.outcome == .isComplete && skipped.lines.badCount == 1 && told == [bad])
    #expect(try RowValue(json: bad.json)["line"]?.integer == Int128(number))
    try other.read { tx throws in #expect(tx.values(in: "c").map(\.key) == ["good", "last"]) }
  }

  @Test func whatIsNoUTF8IsTold() throws {
    let line = Array(#"{"collection":"c","key":""#.utf8) + [0xff, 0xfe] + Array(#"","object":1}"#.utf8)
    let db = try Database.inMemory()
    let (outcome, _) = try load(line, into: db)
    guard case .stopped(let bad) = outcome else {
      Issue.record("the line was stored")
      return
    }
    #expect(bad.number == 1 && bad.reason.contains("UTF-8") && bad.bytes == line)
    #expect(try RowValue(json: bad.json)["bytes"]?.bytes == line)
  }

  /// Lines that were exported, with bytes changed, cut and doubled: rows or errors, never a trap.
  @Test func brokenExportsNeverTrap() throws {
    var random = SeededRandom(seed: 30_000_002)
    var (stored, refused) = (0, 0)
    for _ in 0..<TestSize.trials(200, divisor: 25) {
      let source = try Database.inMemory()
      try RandomDatabase.fill(source, &random)
      var all = bytes(try export(source))
      for _ in 0..<30 {
        let place = random.below(all.count)
        switch random.below(3) {
        case 0: all[place] = UInt8(truncatingIfNeeded: random.next())
        case 1: all.removeSubrange(place..<min(all.count, place + 1 + random.below(20)))
        default: all.insert(random.pick(Array("[]{}\",:\\u0-e$\n".utf8)), at: place)
        }
      }
      let copy = try Database.inMemory()
      let result = try load(all, into: copy, replaces: true) { _ in refused += 1 }
      stored += result.lines.rowCounts.reduce(0) { $0 + $1.rows }
      _ = try export(copy)
    }
    #expect(stored > 0 && refused > 0)
  }

  // MARK: Exports that are cut off

  /// However much of an export comes: less than all lines is told, and nothing that was passed over hides it.
  @Test func aBeginningIsNoExport() throws {
    let source = try Database.inMemory()
    try source.write { tx throws in
      for number in 0..<3 { try tx[.songs].set(Song("Song \(number)"), for: "s\(number)") }
      try tx[RowCollection<Int, NoMetadata>("numbers")].set(1, for: "k")
    }
    let lines = try export(source)
    let all = bytes(lines)
    for length in Array(stride(from: 0, to: all.count, by: TestSize.isFull ? 1 : 13)) + [all.count - 1, all.count] {
      let (outcome, _) = try load(Array(all.prefix(length)), into: try Database.inMemory()) { _ in }
      // The last line need not be ended.
      guard length > 0, length < all.count - 1 else {
        try #require(outcome == .isComplete, "\(length) bytes")
        continue
      }
      let isFirstLineCut = length < lines[0].utf8.count
      guard case .stopped(let bad) = outcome else {
        try #require(isFirstLineCut, "\(length) bytes")
        continue
      }
      try #require(bad.isEndOfAll && bad.reason.contains("cut off"), "\(length) bytes: \(bad)")
    }
    for missing in lines.indices.dropLast() where lines[missing].contains("key") {
      let rest = lines.enumerated().filter { $0.offset != missing }.map(\.element)
      let (outcome, _) = try load(bytes(rest), into: try Database.inMemory()) { _ in }
      guard case .stopped(let bad) = outcome else {
        Issue.record("without line \(missing) it is complete")
        continue
      }
      #expect(bad.number == rest.count && bad.reason.contains("ends with 4 rows, and 3 have come"))
    }
  }

  /// Exports one behind the other; and lines that nobody can read, which may have been rows or not.
  @Test func endsAreCountedBetweenEnds() throws {
    let notes = #"{"collection":"c","coder":"binary"}"#
    func row(_ key: String) -> String { #"{"collection":"c","key":"\#(key)","object":1}"# }
    func outcome(_ lines: [String]) throws -> LineImport.Outcome {
      try load(bytes(lines), into: try Database.inMemory(), rowCount: 2) { _ in }.outcome
    }
    let first = [notes, row("a"), row("b"), #"{"rows":2}"#]
    #expect(try outcome(first + [notes, row("c"), #"{"rows":1}"#]) == .isComplete)
    #expect(try outcome(first + [row("c")]) == .isComplete)
    #expect(try outcome(first + [notes]) != .isComplete)
    #expect(try outcome(first + [notes, row("c"), #"{"rows":3}"#]) != .isComplete)
    #expect(try outcome(Array(first.dropLast()) + first) != .isComplete)
    #expect(try outcome([row("a"), row("b")]) == .isComplete && outcome([#"{"rows":0}"#]) == .isComplete)
    #expect(try outcome([row("a"), #"{"rows":2}"#]) != .isComplete)
    #expect(try outcome([notes, row("a"), "x", #"{"rows":1}"#]) == .isComplete)
    #expect(try outcome([notes, row("a"), "x", #"{"rows":2}"#]) == .isComplete)
    #expect(try outcome([notes, row("a"), "x", #"{"rows":3}"#]) != .isComplete)
    // A row that does not fit has come.
    #expect(try outcome([notes, row("a"), row("a"), #"{"rows":2}"#]) == .isComplete)
  }

  // MARK: Lines

  @Test func linesOfAnyLength() throws {
    let text = Array("a\n\nbcdef\nlong line that goes on\nlast".utf8)
    for step in 1...text.count {
      var rest = text[...]
      var reader = LineReader(limit: 5) { _ in
        defer { rest = rest.dropFirst(step) }
        return Array(rest.prefix(step))
      }
      var lines: [LineReader.Line] = []
      while let line = try reader.next() { lines.append(line) }
      try #require(lines.count == 5 && reader.count == 5 && reader.byteCount == text.count)
      #expect(lines[0] == .whole([97]) && lines[1] == .whole([]) && lines[2] == .whole(Array("bcdef".utf8)))
      guard case .tooLong(let beginning) = lines[3] else {
        Issue.record("a line of 22 bytes has 5")
        return
      }
      #expect(beginning.count > 5 && Array("long line that goes on".utf8).starts(with: beginning))
      #expect(lines[4] == .whole(Array("last".utf8)))
    }
  }
}
