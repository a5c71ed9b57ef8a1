// The language of queries: what is understood, what it means, and what is said of the rest.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

@Suite("Queries of secondary indexes") struct SecondaryIndexQueryTests {
  let fixture: YapFixture
  let connection: YapDatabaseConnection

  init() throws {
    fixture = try YapFixture()
    connection = fixture.database.newConnection()
  }

  /// Registers an index whose columns have the values of some rows, and stores rows for these.
  private func store(_ rows: [[ReferenceAffinity: ReferenceValue]]) throws {
    let setup = YapDatabaseSecondaryIndexSetup(capacity: 5)
    for (column, type) in zip(ReferenceAffinity.allCases, Self.types) { setup.addColumn(column.rawValue, with: type) }
    if fixture.database.registeredExtension("index") != nil {
      fixture.database.unregisterExtension(withName: "index")
      try connection.readWrite { $0.removeAllObjectsInAllCollections() }
    }
    let values = rows.map { row in row.map { ($0.key.rawValue, $0.value) } }
    let index = YapDatabaseSecondaryIndex(
      setup: setup,
      handler: .withKeyBlock { _, dict, _, key in
        guard let row = Int(key) else { return }
        dict["unknown"] = 1
        for (name, value) in values[row] { dict[name] = value.object }
      }, versionTag: UUID().uuidString)
    #expect(fixture.database.register(index, withName: "index"))
    try connection.readWrite { transaction in
      for row in rows.indices { transaction.setObject("object", forKey: "\(row)", inCollection: "rows") }
    }
  }

  private static let types: [YapDatabaseSecondaryIndexType] = [.integer, .real, .numeric, .text, .blob]

  private func answer<Result>(_ body: (YapDatabaseSecondaryIndexTransaction) throws -> Result) throws -> Result {
    try connection.read { try body(#require($0.ext("index") as? YapDatabaseSecondaryIndexTransaction)) }
  }

  /// The keys of the rows that a query finds; nil if it is not understood.
  private func keys(_ query: String, _ parameters: [Any] = []) throws -> [String]? {
    try answer { index in
      var keys: [String] = []
      let isUnderstood = index.iterateKeys(matching: YapDatabaseQuery(string: query, parameters: parameters)) {
        _, key, _ in keys.append(key)
      }
      return isUnderstood ? keys : nil
    }
  }

  // MARK: Against the reference

  @Test(
    "Queries made by chance find what a second reading of the rules finds", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: TestSize.some(1...8 as ClosedRange<UInt64>, of: 2))
  func chance(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let given = (0..<(seed.isMultiple(of: 2) ? 60 : 400)).map { _ in
      var row: [ReferenceAffinity: ReferenceValue] = [:]
      for column in ReferenceAffinity.allCases where Int.random(in: 0..<6, using: &random) > 0 {
        row[column] = .random(&random)
      }
      return row
    }
    try store(given)
    let numbers = try answer { $0.rowids(forKeys: given.indices.map { "\($0)" }, inCollection: "rows") }
    let rows = given.indices.map { index in
      let stored = given[index].map { ($0.key, $0.key.stored($0.value)) }
      return ReferenceRow(
        number: numbers["\(index)"]?.int64Value ?? -1, values: Dictionary(uniqueKeysWithValues: stored))
    }
    for _ in 0..<TestSize.trials(100, divisor: 4) {
      let condition = ReferenceExpression.random(3, &random)
      var parameters: [Any] = []
      var text = "WHERE \(condition.text(&parameters))"
      var expected = rows.indices.filter { condition.truth(rows[$0]) == true }
      let all = expected
      let order = Self.order(&random)
      text += order.text
      expected.sort { Self.isBefore(rows[$0], rows[$1], order.terms) }
      if Int.random(in: 0..<3, using: &random) == 0 {
        let (limit, offset) = (Int.random(in: -1..<8, using: &random), Int.random(in: 0..<4, using: &random))
        text += " LIMIT ? OFFSET \(offset)"
        parameters.append(limit)
        expected = Array(expected.dropFirst(offset).prefix(limit < 0 ? .max : limit))
      }
      let found = try keys(text, parameters)
      #expect(found == expected.map { "\($0)" }, "seed \(seed): \(text) \(parameters)")
      let query = YapDatabaseQuery(string: text, parameters: parameters)
      #expect(try answer { $0.numberOfRows(matching: query) } == UInt(expected.count), "seed \(seed): \(text)")
      try checkEnds(condition, all.map { rows[$0] }, "seed \(seed)")
    }
  }

  private typealias Term = (column: ReferenceAffinity, isDescending: Bool, ignoresCase: Bool)

  private static func order(_ random: inout SeededRandom) -> (text: String, terms: [Term]) {
    let terms = (0..<Int.random(in: 0..<3, using: &random)).map { _ -> Term in
      (
        ReferenceAffinity.allCases.randomElement(using: &random) ?? .blob, .random(using: &random),
        Int.random(in: 0..<6, using: &random) == 0
      )
    }
    let texts = terms.map { term in
      "\(term.column)\(term.ignoresCase ? " COLLATE NOCASE" : "") \(term.isDescending ? "DESC" : "asc")"
    }
    return (texts.isEmpty ? "" : " ORDER BY " + texts.joined(separator: ", "), terms)
  }

  private static func isBefore(_ one: ReferenceRow, _ two: ReferenceRow, _ terms: [Term]) -> Bool {
    for (column, isDescending, ignoresCase) in terms {
      let (left, right) = (one.values[column] ?? .null, two.values[column] ?? .null)
      if left.precedes(right, ignoringCase: ignoresCase) { return !isDescending }
      if right.precedes(left, ignoringCase: ignoresCase) { return isDescending }
    }
    return one.number < two.number
  }

  /// The least and the greatest text and number, and how many there are.
  private func checkEnds(_ condition: ReferenceExpression, _ rows: [ReferenceRow], _ seed: String) throws {
    var parameters: [Any] = []
    let text = "WHERE \(condition.text(&parameters))"
    for column in [ReferenceAffinity.text, .numeric] {
      let values = rows.compactMap { $0.values[column] }.filter { $0 != .null }.sorted { $0.precedes($1) }
      func value(_ function: String) throws -> Any? {
        let query = YapDatabaseQuery(
          aggregateFunction: "\(function)(\(column))", string: text, parameters: parameters)
        return try answer { $0.performAggregateQuery(query) }
      }
      #expect(try value("COUNT") as? Int == values.count, "\(seed): \(text)")
      for (function, expected) in [("MIN", values.first), ("MAX", values.last)] {
        let found = try value(function)
        // Numbers that are equal may be whole or not.
        let isSame = expected.map { expected in
          ReferenceValue(found).map { !$0.precedes(expected) && !expected.precedes($0) } ?? false
        }
        #expect(isSame ?? (found == nil), "\(seed): \(function)(\(column)) \(text): \(found ?? "nil")")
      }
    }
  }

  // MARK: The language

  @Test("Operators bind as in SQLite, and names are written in four ways") func language() throws {
    try store((0..<10).map { [.integer: .integer($0), .text: .text("t\($0)"), .real: $0 < 5 ? .real(0.5) : .null] })
    let cases: [(String, String)] = [
      ("WHERE integer = 1 OR integer = 2 AND text = 't2'", "12"), ("where (integer=1 or integer=2) and text='t2'", "2"),
      ("WHERE NOT integer > 1 AND integer < 9", "01"), ("WHERE NOT (integer > 1 OR integer < 1)", "1"),
      ("WHERE NOT integer = 1 = 0", "1"), ("WHERE integer > 2 = 1 AND integer < 5", "34"),
      ("WHERE integer BETWEEN 2 AND 3 OR integer = 7", "237"), ("WHERE integer NOT BETWEEN 1 AND 8", "09"),
      ("WHERE 3 < integer AND 6 > integer", "45"), ("WHERE integer IN (1, 3, 'x', NULL)", "13"),
      ("WHERE integer NOT IN (0, 1, 2)", "3456789"), ("WHERE integer NOT IN (0, NULL)", ""),
      ("WHERE integer IN ()", ""),
      ("WHERE integer NOT IN ()", "0123456789"), ("WHERE real IS NULL", "56789"), ("WHERE real ISNULL", "56789"),
      ("WHERE real NOT NULL AND integer >= 4", "4"), ("WHERE real NOTNULL AND integer != 1 AND integer <> 2", "034"),
      ("WHERE real IS NOT NULL ORDER BY integer DESC", "43210"), ("WHERE real IS NOT 0.5", "56789"),
      ("WHERE \"integer\" == 4", "4"), ("WHERE [integer] == 4", "4"), ("WHERE `INTEGER` == 4", "4"),
      ("WHERE text = \"t4\"", "4"), ("WHERE text = 't4' COLLATE NOCASE", "4"),
      ("WHERE text COLLATE NOCASE = 'T4'", "4"),
      ("WHERE text = 'T4' COLLATE BINARY", ""), ("WHERE 't4  ' = text COLLATE RTRIM", "4"),
      ("WHERE 't4' COLLATE RTRIM = 't4  ' LIMIT 1", "0"), ("WHERE text LIKE 'T_' AND integer > 7", "89"),
      ("WHERE text LIKE 't\\4' ESCAPE '\\'", "4"), ("WHERE text LIKE '%\\_' ESCAPE '\\'", ""),
      ("WHERE text NOT LIKE '%1' AND integer < 3", "02"), ("WHERE integer LIKE '7%'", "7"),
      ("WHERE real", "01234"), ("WHERE true AND integer < 1 AND NOT false", "0"), ("WHERE NULL", ""), ("WHERE 0.0", ""),
      ("LIMIT 3", "012"), ("LIMIT 2 OFFSET 8", "89"), ("LIMIT 1, 2", "12"), ("LIMIT -1 OFFSET 9", "9"), ("LIMIT 0", ""),
      ("ORDER BY real, integer DESC LIMIT 6", "987654"), ("ORDER BY real DESC LIMIT 3", "012"), ("", "0123456789"),
      ("WHERE integer = -(-4) -- four\n ;", "4"), ("WHERE integer = +4e0 OR integer = 0x5", "45"),
      ("WHERE text = x'7434'", ""), ("WHERE integer = ' 4 '", "4"), ("WHERE integer < 'word' AND integer > 8", "9"),
      ("WHERE text > 5 AND integer = 0", "0"), ("WHERE 5 < '4'", "0123456789"), ("WHERE integer IN (TRUE)", "1"),
      ("WHERE OID = rowid AND integer = 3", "3"), ("WHERE text LIKE 't4\\' ESCAPE '\\'", ""),
      ("WHERE text NOT LIKE '%\\' ESCAPE '\\' AND integer = 4", "4"), ("WHERE text LIKE 'té4' ESCAPE 'é'", "4"),
      ("WHERE -9223372036854775808 LIKE '%e%'", ""), ("WHERE -9223372036854775808 < integer AND integer < 2", "01"),
      ("WHERE integer /* which ? */ = 3 /* and", "3"), ("WHERE integer IS TRUE AND integer < 4", "123"),
      ("WHERE integer IS NOT TRUE", "0"), ("WHERE real IS NOT FALSE AND integer > 6", "789"),
    ]
    for (query, expected) in cases { #expect(try keys(query)?.joined() == expected, "\(query)") }
    #expect(try keys("WHERE integer IN (?) AND text = ?", [[3, 4], "t4"]) == ["4"])
    #expect(try keys("WHERE text IN (?) ORDER BY integer", [["t3", "t1"]]) == ["1", "3"])
    #expect(try keys("WHERE integer > ? LIMIT ?", [4, 2]) == ["5", "6"])
  }

  @Test("Rows are found by their numbers") func rowNumbers() throws {
    try store((0..<50).map { [.integer: .integer($0 % 5)] })
    let numbers = try answer { $0.rowids(forKeys: ["7", "9", "31", "60"], inCollection: "rows") }
    #expect(numbers.count == 3)
    let all = numbers.values.map(\.int64Value).sorted()
    #expect(try keys("WHERE rowid IN (?)", [Array(numbers.values)]) == ["7", "9", "31"])
    #expect(try keys("WHERE rowid IN (?) AND integer = 4", [all]) == ["9"])
    #expect(
      try keys("WHERE rowid > ? AND rowid <= ? AND integer = 1", [all[1], all[2]]) == ["11", "16", "21", "26", "31"])
    #expect(try keys("WHERE ? >= rowid AND rowid > ?", [all[1], all[0]]) == ["8", "9"])
    #expect(try keys("WHERE rowid = ? OR _rowid_ = ?", [all[2], all[0]]) == ["7", "31"])
    let query = YapDatabaseQuery(string: "WHERE rowid BETWEEN ? AND ?", parameters: [all[0], all[2]])
    #expect(try answer { $0.numberOfRows(matching: query) } == 25)
  }

  @Test("Long values are told apart beyond what a key has of them") func longValues() throws {
    let start = String(repeating: "long ", count: 100)
    let texts = ["c", "a", "b", "a"].map { start + $0 } + ["short", start]
    try store(texts.map { [.text: .text($0), .numeric: .text($0), .blob: .blob(Array($0.utf8))] })
    for column in ["text", "numeric", "blob"] {
      let a: Any = column == "blob" ? Data(texts[1].utf8) : texts[1]
      #expect(try keys("WHERE \(column) = ?", [a]) == ["1", "3"])
      #expect(try keys("WHERE \(column) > ?", [a]) == ["0", "2", "4"])
      #expect(try keys("WHERE \(column) <= ? ORDER BY \(column)", [a]) == ["5", "1", "3"])
      #expect(try keys("ORDER BY \(column)") == ["5", "1", "3", "2", "0", "4"])
      #expect(try keys("ORDER BY \(column) DESC LIMIT 4") == ["4", "0", "2", "1"])
      #expect(try keys("WHERE \(column) LIKE ? ORDER BY \(column) LIMIT 2", [start + "%"]) == ["5", "1"])
    }
    #expect(
      try answer { $0.performAggregateQuery(YapDatabaseQuery(aggregateFunction: "MAX(text)")) } as? String == "short")
  }

  @Test("Sums of whole numbers are whole, and say so when they are too large") func sums() throws {
    try store([3, 4, 5].map { [.integer: .integer($0), .text: .text("\($0)x"), .real: .real(0.1)] })
    func value(_ function: String, _ query: String = "") throws -> Any? {
      try answer { $0.performAggregateQuery(YapDatabaseQuery(aggregateFunction: function, string: query)) }
    }
    #expect(try value("SUM(integer)") as? Int == 12 && value("AVG(integer)") as? Double == 4)
    #expect(try value("TOTAL(integer)") as? Double == 12 && value("SUM(text)") as? Double == 12)
    #expect(try value("SUM(real)") as? Double == 0.3 || value("SUM(real)") as? Double == 0.1 + 0.1 + 0.1)
    #expect(try value("SUM(integer > 3)") as? Int == 2 && value("COUNT()") as? Int == 3)
    #expect(try value("SUM(DISTINCT real)") as? Double == 0.1 && value("COUNT(*)", "LIMIT 2") as? Int == 2)
    try store([.max, 1].map { [.integer: .integer($0)] })
    #expect(try value("SUM(integer)") == nil && value("TOTAL(integer)") as? Double == 0x1p63)
  }

  // MARK: What is not understood

  @Test("A query that is not understood says where and what helps, and leaves the transaction alone") func badQueries()
    throws
  {
    try store([[.integer: .integer(1)]])
    let cases: [(String, [Any], String)] = [
      ("WHERE", [], "At the end of the query: A column, a value or `?` is missing"),
      (
        "WHERE colour = 1", [],
        "At character 7 of the query, “colour = 1”: There is no column “colour”. The columns are "
      ),
      ("WHERE [colour] = 1", [], "There is no column “colour”"),
      ("WHERE integer = 'x", [], "has no end. Close it with '"),
      ("WHERE integer = 1 GROUP BY text", [], "`GROUP` is not known here"), ("integer = 1", [], "does not belong here"),
      ("WHERE integer = ?", [], "There are 0 parameters for 1 `?`"),
      ("WHERE integer = 1", [1], "There are 1 parameters for 0 `?`"),
      ("WHERE integer = ?1", [1], "Parameters have no numbers"),
      ("WHERE integer = :a", [1], "Parameters have no names"),
      ("WHERE integer = ?", [Date.self], "Parameter 1 of the query is of type"),
      ("WHERE (integer = 1", [], "“)” is miss"),
      ("WHERE integer + 1 = 2", [], "Values are not computed in queries"),
      ("WHERE lower(text) = 'a'", [], "Functions are"),
      ("WHERE integer IN 1", [], "Write `IN (?)`"), ("WHERE integer BETWEEN 1", [], "`AND` is missing"),
      ("WHERE AND integer", [], "A column or a value is missing"), ("ORDER integer", [], "`BY` is missing"),
      ("ORDER BY 1", [], "Rows are ordered by columns"), ("ORDER BY colour", [], "no column “colour”"),
      ("LIMIT 'x'", [], "`LIMIT` takes a whole number"), ("LIMIT 1 OFFSET 2.5", [], "`OFFSET` takes a whole number"),
      ("LIMIT integer", [], "`LIMIT` takes a whole number"),
      ("WHERE text = 'a' COLLATE nobody", [], "no way of comparing"),
      ("WHERE integer = 12ab", [], "This is no number"), ("WHERE integer = x'abc'", [], "even number of hexadecimal"),
      ("WHERE integer = ~1", [], "This character has no meaning"), ("LIMIT 5 WHERE integer = 1", [], "does not belong"),
      ("WHERE integer IN (SELECT 1)", [], "A column or a value is missing"), ("WHERE integer =", [], "At the end"),
      ("WHERE " + String(repeating: "(", count: 5000) + "1", [], "more than 100 brackets deep"),
      ("WHERE " + String(repeating: "NOT ", count: 5000) + "1", [], "more than 100 brackets deep"),
      ("WHERE " + String(repeating: "+ ", count: 5000) + "1", [], "100 brackets deep"),
      ("WHERE 1" + String(repeating: " = 1", count: 5000), [], "Join them by `AND` or `OR`"),
      ("WHERE 1" + String(repeating: " < 1", count: 5000), [], "Join them by `AND` or `OR`"),
      ("WHERE integer = '\u{fc}' AND \u{fc} = 1", [], "At character 25 of the query, “\u{fc} = 1”"),
    ]
    for (text, parameters, expected) in cases {
      let query = YapDatabaseQuery(string: text, parameters: parameters)
      try connection.read { transaction in
        let index = try #require(transaction.ext("index") as? YapDatabaseSecondaryIndexTransaction)
        let error = databaseError { try index.check(query) }
        #expect(error?.code == .malformedQuery)
        #expect(error?.message.contains(expected) == true, "\(text.prefix(60)): \(error?.message ?? "no error")")
        #expect(!index.enumerateKeys(matching: query) { _, _, _ in Issue.record("\(text) was understood") })
        #expect(index.numberOfRows(matching: query) == nil)
        var count: UInt = 9
        #expect(!index.getNumberOfRows(&count, matching: query) && count == 0)
        #expect(transaction.failure == nil)
      }
    }
    for text in ["SUM", "SUM(", "SUM(integer) + 1", "SUM(*)", "MEDIAN(integer)", "SUM(colour)", "SUM(?)", ""] {
      let query = YapDatabaseQuery(aggregateFunction: text)
      #expect(try answer { index in databaseError { try index.check(query) }?.code } == .malformedQuery, "\(text)")
      #expect(try answer { $0.performAggregateQuery(query) } == nil, "\(text)")
    }
    #expect(try answer { $0.performAggregateQuery(.matchingAll()) } == nil)
    #expect(try answer { !$0.iterateIndexedValues(inColumn: "colour", matching: .matchingAll()) { _, _ in } })
  }

  @Test("A condition may be as deep as any stack takes, and as wide as one likes") func limits() throws {
    try store([[.integer: .integer(1)]])
    // As deep as it may be, on a thread with the smallest stack that there is.
    let deep = "WHERE " + String(repeating: "(NOT ", count: 48) + "integer = 1" + String(repeating: ")", count: 48)
    let done = DispatchSemaphore(value: 0)
    let connection = connection
    let thread = Thread {
      let query = YapDatabaseQuery(string: deep)
      let count = try? connection.read { transaction in
        (transaction.ext("index") as? YapDatabaseSecondaryIndexTransaction)?.numberOfRows(matching: query)
      }
      #expect(count == 1)
      done.signal()
    }
    thread.stackSize = 512 << 10
    thread.start()
    done.wait()
    // As long as it likes in breadth.
    let wide = "WHERE " + (0..<5000).map { "integer = \($0)" }.joined(separator: " OR ")
    #expect(try keys(wide) == ["0"] && keys("WHERE integer IN (?)", [Array(0..<5000)]) == ["0"])
  }
}
