// Plans that the tool makes without the types of the rows: those of the app's own queries.

import Foundation
import QuireDatabase
@testable import QuireIndexes
import QuireTesting
import Testing

@Suite struct StoredPlanTests {
  typealias Query = RowQuery<Track, Plays>
  /// All indexes but the one that holds some of the rows.
  static let whole = Array(0..<Indexes<Track, Plays>.all.count).filter { $0 != 9 }

  /// A file with rows and indexes of these numbers.
  static func makeDatabase(_ path: String, _ indexes: [Int], rows: Int = 400) throws {
    let db = try Database(at: path)
    var random = SeededRandom(seed: 4)
    try db.write { tx in
      for number in 0..<rows {
        let plays = random.oneIn(4) ? nil : Plays(count: random.below(9))
        try tx[.tracks].set(random.track(), metadata: plays, for: "k\(number)")
      }
    }
    if !indexes.isEmpty { try db.register(Indexes.tracks(indexes)) }
    try db.close()
  }

  // MARK: Columns

  @Test func columnsAreRead() throws {
    let db = try Database.inMemory()
    try db.register(Indexes.tracks())
    let entries = try db.read { tx in try #require(try tx.storedIndexes().first).indexes }
    let columns = Dictionary(uniqueKeysWithValues: entries.map { ($0.name, $0.columns) })
    let (year, rating) = (columns["year-rating"]?.first, columns["year-rating"]?.last)
    #expect(year?.name == "year" && year?.typeName == "Int" && year?.isDescending == false)
    #expect(rating?.name == "rating" && rating?.typeName == "Optional<Double>" && rating?.isDescending == true)
    let (tags, plays) = (columns["tags"]?.first, columns["plays"]?.first)
    #expect(tags?.name == "tags" && tags?.typeName == "Array<String>" && tags?.hasElements == true)
    #expect(plays?.name == "metadata.count" && plays?.isMetadata == true && plays?.typeName == "Int")
    #expect(columns["album"]?.first?.name == "album.name")
    #expect(columns.values.allSatisfy { $0.allSatisfy(\.isStored) })
    // One column of several indexes is the same one.
    #expect(year?.column.id == columns["year"]?.first?.column.id)
    #expect(year?.column.id != rating?.column.id && tags?.column.id == columns["tag-year"]?.first?.column.id)
    try db.close()
  }

  @Test func typesWithCommasAreOne() {
    let summary = "SortKeys<Int, String>, b: (Int, Int) of metadata descending, unique, some rows"
    let entry = IndexCatalog.Entry(
      name: "i", signature: "", tree: 0, isReady: true, places: [0, 1], heldPlace: nil, summary: summary)
    #expect(entry.storedColumns.map(\.typeName) == ["SortKeys<Int, String>", "(Int, Int)"])
    #expect(entry.storedColumns.map(\.name) == [nil, "metadata.b"] && entry.storedColumns[1].isDescending)
    #expect(entry.hasEntries)
  }

  @Test func anyDeclarationIsRead() {
    var random = SeededRandom(seed: 7)
    let words = [
      ", ", "<", ">", "each of ", " of metadata", " descending", ": ", "é", "Int", "Optional<", ")",
      "stored without entries",
      "\u{301}", "",
    ]
    for _ in 0..<2000 {
      let summary = (0..<random.below(8)).map { _ in random.pick(words) }.joined()
      let entry = IndexCatalog.Entry(
        name: "i", signature: "", tree: 0, isReady: true, places: [0, 1, 2], heldPlace: nil, summary: summary)
      #expect(entry.storedColumns.count == 3)
      _ = entry.hasEntries
      for column in entry.storedColumns where !column.hasElements {
        _ = try? column.compare(.less, .number("1"))
        _ = try? column.hasPrefix("a")
      }
    }
  }

  @Test func whatPlacesSayMustFit() throws {
    let db = try Database.inMemory()
    try db.register(Indexes.tracks([0, 4]))
    try db.write { tx in
      let upkeep = try tx.access(to: Indexes.tracks([0, 4])).upkeep
      var catalog = upkeep.catalog
      catalog.entries[1].places = catalog.entries[0].places
      try upkeep.store.set(catalog.bytes, for: IndexTrees.catalogName)
    }
    #expect(throws: IndexError.self) {
      _ = try db.read { tx in try StoredPlanner("tracks", in: tx).rowCount }
    }
    try db.close()
  }

  @Test("A plan of a text asks nothing of the types that a program has for the rows")
  func typesDoNotMatter() throws {
    let db = try Database.inMemory()
    try db.write { tx in try tx[RowCollection<Int, NoMetadata>("numbers")].set(1, for: "a") }
    for _ in 0..<2 {
      try db.read { tx in
        let planner = try StoredPlanner("numbers", in: tx)
        #expect(planner.rowCount == 1)
        #expect(tx[RowCollection<Int, NoMetadata>("numbers")].count == 1)
      }
    }
    try db.close()
  }

  // MARK: The tool

  #if os(Linux)
    /// Texts, and the queries that they are.
    private static let queries: [(String, Query)] = [
      ("", RowCollection.tracks.query()),
      ("title = 'ab'", RowCollection.tracks.query { $0.title == "ab" }),
      ("title LIKE 'a%' AND year >= 1990", RowCollection.tracks.query { $0.title.hasPrefix("a") && $0.year >= 1990 }),
      ("year >= 1990 AND year < 1994", RowCollection.tracks.query { $0.year >= 1990 && $0.year < 1994 }),
      (
        "year BETWEEN 1990 AND 1991 OR tags = 'x'",
        RowCollection.tracks.query {
          $0.year.isBetween(1990, and: 1991) || $0.tags.contains("x")
        }
      ),
      ("year = 1990 AND rating > 2.5", RowCollection.tracks.query { $0.year == 1990 && $0.rating > 2.5 }),
      (
        "year in (1990, 1995) and not (rating is null)",
        RowCollection.tracks.query {
          $0.year.isIn([1990, 1995]) && !($0.rating == nil)
        }
      ),
      ("rating IS NULL", RowCollection.tracks.query { $0.rating == nil }),
      ("rating != 2 AND score <= 1.5", RowCollection.tracks.query { $0.rating != 2 && $0.score <= 1.5 }),
      (
        "tags IN ('x', 'z') AND tags != 'y'",
        RowCollection.tracks.query {
          $0.tags.contains(anyOf: ["x", "z"]) && !$0.tags.contains("y")
        }
      ),
      (
        "album.name = 'A' AND \"mood-year-title.2\" = 1993",
        RowCollection.tracks.query {
          $0.album.name == "A" && $0.year == 1993
        }
      ),
      ("metadata.count <= 2", RowCollection.tracks.query { $0.metadata.count <= 2 }),
      ("plays NOT IN (1, 2)", RowCollection.tracks.query { !$0.metadata.count.isIn([1, 2]) }),
      ("folded LIKE 'EM%'", RowCollection.tracks.query { $0.title.folded.hasPrefix("em") }),
      (
        "when < '2001-01-01T00:00:20Z'",
        RowCollection.tracks.query {
          $0.added < Date(timeIntervalSinceReferenceDate: 20)
        }
      ),
      ("year = 1990 AND year = 1991", RowCollection.tracks.query { $0.year == 1990 && $0.year == 1991 }),
      ("KEY = 'k12'", RowCollection.tracks.query { $0.key == "k12" }),
      ("key like 'k1%' AND year = 1990", RowCollection.tracks.query { $0.key.hasPrefix("k1") && $0.year == 1990 }),
      ("KEY LIKE 'k\u{d7ff}%'", RowCollection.tracks.query { $0.key.hasPrefix("k\u{d7ff}") }),
      (
        "KEY BETWEEN 'k2' AND 'k30' OR KEY > 'k9'",
        RowCollection.tracks.query {
          $0.key.isBetween("k2", and: "k30") || $0.key > "k9"
        }
      ),
      ("KEY IN ('k1', 'none', 'k2')", RowCollection.tracks.query { $0.key.isIn(["k1", "none", "k2"]) }),
      ("KEY != 'k1' AND NOT KEY < 'k3'", RowCollection.tracks.query { $0.key != "k1" && !($0.key < "k3") }),
      ("KEY IS NULL", RowCollection.tracks.query(.none)),
      ("ORDER BY KEY DESC LIMIT 5", RowCollection.tracks.query().orderByKey(descending: true).limit(5)),
      ("KEY >= 'k3' ORDER BY KEY", RowCollection.tracks.query { $0.key >= "k3" }.orderByKey()),
      ("year = 1990 ORDER BY KEY", RowCollection.tracks.query { $0.year == 1990 }.orderByKey()),
      ("ORDER BY year DESC LIMIT 5", RowCollection.tracks.query().order(by: .descending(\.year)).limit(5)),
      (
        "tags = 'x' ORDER BY year, title DESC LIMIT 7 OFFSET 3",
        RowCollection.tracks.query { $0.tags.contains("x") }
          .order(by: .ascending(\.year), .descending(\.title)).limit(7).offset(3)
      ),
      (
        "year = 1990 ORDER BY rating DESC",
        RowCollection.tracks.query { $0.year == 1990 }
          .order(by: .descending(\.rating))
      ),
    ]

    private func output(_ arguments: String..., status: Int32 = 0, at line: SourceLocation = #_sourceLocation) -> String
    {
      guard let result = runQuireDB(["plan"] + arguments) else {
        Issue.record("quiredb does not run", sourceLocation: line)
        return ""
      }
      #expect(result.status == status, "\(arguments): \(result.output)", sourceLocation: line)
      return result.output
    }

    @Test(.enabled(if: TestSize.hasSlowTests, "slow")) func theToolPlansAsTheAppDoes() throws {
      let folder = try TemporaryFolder()
      let path = folder.path("db")
      for (number, indexes) in [Self.whole, [1, 3, 4], []].enumerated() {
        try? FileManager.default.removeItem(atPath: path)
        try Self.makeDatabase(path, indexes)
        let db = try Database(at: path)
        if !indexes.isEmpty { try db.register(Indexes.tracks(indexes)) }
        // Names of indexes need these, and of a field that no index has it is not known that it is a list.
        let unknown = ["mood-year", "folded", "plays NOT", "when"] + (indexes.isEmpty ? ["tags IN"] : [])
        let rare = unknown + ["tags IN"]
        let known = Self.queries.enumerated().filter { place, query in
          if indexes != Self.whole, unknown.contains(where: { query.0.contains($0) }) { return false }
          // In the short size each text is asked for once, and those that need some index over all of them.
          let isRare = rare.contains { query.0.contains($0) }
          return TestSize.isFull || (isRare ? number == 0 : place % 3 == number)
        }.map(\.element)
        let plans = try db.read { tx in try known.map { try tx.find($0.1).plan.description } }
        try db.close()
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        for ((text, _), plan) in zip(known, plans) {
          let lines = output(path, "tracks", text).split(separator: "\n")
          #expect(lines.first == "plan     \(plan)", "\(text) over \(indexes)")
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
      }
    }

    @Test(arguments: TestSize.some([1, 2, 3] as [UInt64], of: 1))
    func theToolPlansRandomQueriesAsTheAppDoes(_ seed: UInt64) throws {
      let folder = try TemporaryFolder()
      let path = folder.path("db")
      try Self.makeDatabase(path, Self.whole)
      var random = SeededRandom(seed: seed)
      let queries = (0..<TestSize.trials(20, divisor: 2)).map { _ in random.textualQuery(depth: 3) }
      let db = try Database(at: path)
      try db.register(Indexes.tracks(Self.whole))
      let plans = try db.read { tx in try queries.map { try tx[.tracks].find($0.condition).plan.description } }
      try db.close()
      for (query, plan) in zip(queries, plans) {
        #expect(output(path, "tracks", query.text).hasPrefix("plan     \(plan)\n"), "\(query.text)")
      }
    }

    @Test func theToolCountsEachPart() throws {
      let folder = try TemporaryFolder()
      let path = folder.path("db")
      try Self.makeDatabase(path, [0, 1, 3, 7, 9])
      let db = try Database(at: path)
      try db.register(Indexes.tracks([0, 1, 3, 7, 9]))
      let (years, ratings, titles, played) = try db.read { tx in
        let rows = tx[.tracks]
        return (
          try rows.find { $0.year == 1990 }.count, try rows.find { $0.year == 1990 && $0.rating == 2 }.count,
          try rows.find { $0.title == "a" }.count, try rows.find { $0.metadata.count >= 0 }.count
        )
      }
      try db.close()
      #expect(
        output(path, "tracks", "year = 1990 AND rating = 2 OR title = 'a'") == """
          plan     (\(ratings) entries of “year-rating” and \(titles) entries of “title”)
          reads    at most \(ratings + titles) entries and rows, of 400 rows
          counted  \(years) entries of “year” for year
          counted  \(ratings) entries of “year-rating” for year, rating
          counted  \(titles) entries of “title” for title

          """)
      // Without metadata there is no number of plays, which is never nil itself.
      #expect(
        output(path, "tracks", "metadata.count IS NULL").hasPrefix("plan     \(400 - played) entries of “plays”\n"))
      let partial = output(path, "tracks", "added > '2001-01-01' AND name = 1 AND year = 1990")
      #expect(partial.contains("note     “recent” holds some of the rows"))
      #expect(partial.contains("note     no index has “name”: tests every row that the rest leaves\n"))
      // In quotes it is a field, which no index has.
      #expect(output(path, "tracks", "\"KEY\" = 'k1'").hasSuffix("note     no index has “KEY”: tests every row\n"))
      #expect(
        output(path, "tracks", "KEY = 'k1'") == "plan     1 key\nreads    at most 1 entries and rows, of 400 rows\n")
      let scan = output(path, "tracks", "name = 1")
      #expect(
        scan.hasPrefix("plan     all 400 rows, each tested for one more part of the condition on the decoded row\n"))
      #expect(scan.hasSuffix("note     no index has “name”: tests every row\n"))
      #expect(output(path, "tracks", "title IS NULL").contains("plan     nothing\nreads    nothing, of 400 rows\n"))
    }

    @Test func noTextStopsTheTool() throws {
      let folder = try TemporaryFolder()
      let path = folder.path("db")
      try Self.makeDatabase(path, Self.whole, rows: 20)
      var random = SeededRandom(seed: 6)
      let words = [
        "year", "tags", "\"", "'", "'x'", "(", ")", ",", "=", "<", "AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "IS",
        "NULL",
        "ORDER", "BY", "LIMIT", "OFFSET", "1", "-9e999", "1e+", "é\u{301}", "TRUE", "rating", "title", "mood",
        "metadata.count",
      ]
      for _ in 0..<TestSize.trials(60, divisor: 4) {
        let text = (0..<1 + random.below(9)).map { _ in random.pick(words) }.joined(separator: random.pick([" ", ""]))
        let result = try #require(runQuireDB(["plan", path, "tracks", "--", text]))
        #expect(
          result.status == 0 && result.output.hasPrefix("plan ")
            || result.status == 1 && result.output.hasPrefix("quiredb: "),
          "\(text): \(result.output)")
      }
    }

    @Test func theToolUsesNoIndexThatIsOutOfDate() throws {
      let folder = try TemporaryFolder()
      let path = folder.path("db")
      try Self.makeDatabase(path, [1])
      var db = try Database(at: path)
      var random = SeededRandom(seed: 5)
      try db.write { tx in try tx[.tracks].set(random.track(), for: "new") }
      try db.close()
      let found = output(path, "tracks", "year = 1990")
      #expect(
        found.hasPrefix("plan     all 401 rows, each tested") && found.contains("note     the indexes are out of date"))
      db = try Database(at: path)
      try db.register(Indexes.tracks([1]))
      try db.close()
      #expect(output(path, "tracks", "year = 1990").contains(" entries of “year”"))
    }

    @Test(.enabled(if: TestSize.hasSlowTests, "slow")) func theToolSaysWhatToWriteInstead() throws {
      let folder = try TemporaryFolder()
      let path = folder.path("db")
      try Self.makeDatabase(path, Self.whole, rows: 20)
      let wrong: [(String, String)] = [
        ("year > ", "at the end: here a value is expected"),
        ("year 1990", "at character 6, “1990”: behind a field =, !="),
        ("year = '1990'", "at character 8, “'1990'”: this is no value of Int. Write a whole number from -"),
        ("year = 99999999999999999999", "this is no value of Int"),
        ("name = 1e+", "this is no value. Write a text, a number"),
        ("rating = 'x'", "Write a number: 3.5"), ("rating = NULL", "Write IS NULL"),
        ("title = 3", "Write a text in quotes"), ("added = 'yesterday'", "'1959-08-17'"),
        ("mood = 'happy'", "it is a column of Mood, a type of the app’s"), ("tags < 'x'", "Write = or IN"),
        ("tags IS NULL", "an entry for each element"), ("year LIKE '19%'", "only a String begins with a text"),
        ("title LIKE '%a%'", "only the beginning of a text has a plan"), ("title = 'a", "the quote ' is not closed"),
        ("(year = 1990", "here ) is expected"), ("year = 1990)", "the end is expected"),
        ("year = 1990 AND", "here the name of a field is expected, such as “title”"),
        ("year NOT = 3", "Write NOT in front of the field"), ("year = 1990 LIMIT -1", "a number of rows is expected"),
        ("year = 1990 ORDER year", "here BY is expected"), ("ORDER BY tags", "a list gives no order"),
        ("year # 3", "at character 6, “# 3”: no word begins so"), ("year IN ()", "here a value is expected"),
        ("KEY = 5", "at character 7, “5”: this is no value of String. Write a text in quotes"),
        ("ORDER BY year, KEY", "at character 10, “year, KEY”: no two rows have the same key"),
        (String(repeating: "(", count: 9000), "more than 64 brackets"),
        (String(repeating: "NOT ", count: 4000), "more than 64 brackets"),
        (String(repeating: "year = 1 OR ", count: 2000), "more than 16384 characters"),
      ]
      for (text, message) in wrong {
        let found = output(path, "tracks", text, status: 1)
        #expect(found.hasPrefix("quiredb: ") && found.contains(message), "\(text.prefix(40)): \(found)")
      }
      #expect(
        output(path, "trucks", "year = 1", status: 1).contains("There is no collection “trucks”. Name one of “tracks”.")
      )
      #expect(output(folder.path("none"), "tracks", "", status: 1).hasPrefix("quiredb: "))
      let nested = String(repeating: "NOT (", count: 30) + "year = 1990" + String(repeating: ")", count: 30)
      #expect(output(path, "tracks", nested).contains("for year\n"))
      let long = (0..<1500).map { "\(1000 + $0)" }.joined(separator: ",")
      #expect(output(path, "tracks", "year IN (\(long))").hasPrefix("plan     20 entries of “year"))
    }
  #endif
}

/// A condition in text, and as the app has it.
private struct TextualQuery {
  let text: String
  let condition: TrackCondition
}

extension SeededRandom {
  fileprivate mutating func textualQuery(depth: Int) -> TextualQuery {
    guard depth > 0, !oneIn(3) else { return textualComparison() }
    let (left, right) = (textualQuery(depth: depth - 1), textualQuery(depth: depth - 1))
    switch below(5) {
    case 0: return TextualQuery(text: "NOT (\(left.text))", condition: !left.condition)
    case 1, 2:
      return TextualQuery(text: "(\(left.text) OR \(right.text))", condition: left.condition || right.condition)
    default: return TextualQuery(text: "(\(left.text) AND \(right.text))", condition: left.condition && right.condition)
    }
  }

  private mutating func textualComparison() -> TextualQuery {
    let fields = Fields<Track, Plays>()
    let (year, half, count, tag) = (
      1987 + below(14), Double(below(10)) / 2, below(9), pick(["x", "y", "long tag", ""])
    )
    switch below(12) {
    case 0: return TextualQuery(text: "year = \(year)", condition: fields.year == year)
    case 1: return TextualQuery(text: "year > \(year)", condition: fields.year > year)
    case 2: return TextualQuery(text: "year <= \(year)", condition: fields.year <= year)
    case 3: return TextualQuery(text: "rating >= \(half)", condition: fields.rating >= half)
    case 4: return TextualQuery(text: "rating <> \(half)", condition: fields.rating != half)
    case 5: return TextualQuery(text: "score < \(half)", condition: fields.score < half)
    case 6: return TextualQuery(text: "tags = '\(tag)'", condition: fields.tags.contains(tag))
    case 7: return TextualQuery(text: "metadata.count = \(count)", condition: fields.metadata.count == count)
    case 8: return TextualQuery(text: "metadata.count > \(count)", condition: fields.metadata.count > count)
    case 9: return TextualQuery(text: "title LIKE 'a%'", condition: fields.title.hasPrefix("a"))
    case 10: return TextualQuery(text: "album.name >= 'B'", condition: fields.album.name >= "B")
    default:
      let time = Date(timeIntervalSinceReferenceDate: Double(count))
      return TextualQuery(text: "added >= '\(time.formatted(.iso8601))'", condition: fields.added >= time)
    }
  }
}
