// Secondary indexes under their original names: the original's own tests, and what its semantics promise.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

/// What the original's tests store.
struct Reading: Codable, Sendable, Equatable {
  var date: Date
  var number: Int
}

struct Employee: Codable, Sendable, Equatable {
  var department: String
  var salary: Int
}

@Suite("Secondary indexes") struct SecondaryIndexTests {
  let fixture: YapFixture
  let database: YapDatabase
  let connection: YapDatabaseConnection
  let other: YapDatabaseConnection

  init() throws {
    fixture = try YapFixture()
    (database, connection) = (fixture.database, fixture.connection)
    Self.register(database)
    other = database.newConnection()
  }

  private static func register(_ database: YapDatabase) {
    database.registerCodableSerialization(Reading.self, metadata: String.self, forCollection: "readings")
    database.registerCodableSerialization(Employee.self, metadata: String.self, forCollection: "staff")
  }

  private static func setup(
    _ columns: KeyValuePairs<String, YapDatabaseSecondaryIndexType>
  ) -> YapDatabaseSecondaryIndexSetup {
    let setup = YapDatabaseSecondaryIndexSetup()
    for (name, type) in columns { setup.addColumn(name, with: type) }
    return setup
  }

  /// Texts by themselves and their length.
  private func texts(
    _ options: YapDatabaseSecondaryIndexOptions? = nil, version: String? = nil,
    _ columns: KeyValuePairs<String, YapDatabaseSecondaryIndexType> = ["text": .text, "length": .integer]
  ) -> YapDatabaseSecondaryIndex {
    YapDatabaseSecondaryIndex(
      setup: Self.setup(columns),
      handler: .withObjectBlock { _, dict, _, _, object in
        guard let text = object as? String, !text.isEmpty else { return }
        dict["text"] = text
        dict["length"] = text.count
      }, versionTag: version, options: options)
  }

  /// The index in a transaction.
  private func index(_ transaction: YapDatabaseReadTransaction) throws -> YapDatabaseSecondaryIndexTransaction {
    try #require(transaction.ext("index") as? YapDatabaseSecondaryIndexTransaction)
  }

  /// The keys that a query finds.
  private func keys(
    _ query: String, _ parameters: [Any] = [], _ transaction: YapDatabaseReadTransaction
  ) throws -> [String] {
    var keys: [String] = []
    let isFound = try index(transaction).iterateKeys(
      matching: YapDatabaseQuery(string: query, parameters: parameters)
    ) { _, key, _ in keys.append(key) }
    #expect(isFound)
    return keys
  }

  private func keys(_ query: String, _ parameters: Any...) throws -> [String] {
    try other.read { try keys(query, parameters, $0) }
  }

  private func set(_ values: KeyValuePairs<String, String>, in collection: String? = nil) throws {
    try connection.readWrite { transaction in
      for (key, text) in values { transaction.setObject(text, forKey: key, inCollection: collection) }
    }
  }

  // MARK: The original's tests

  @Test("Rows are found by dates and numbers, literals and parameters, on every connection") func originalTest() throws
  {
    let start = Date()
    let index = YapDatabaseSecondaryIndex(
      setup: Self.setup(["someDate": .real, "someInt": .integer]),
      handler: .withObjectBlock { _, dict, _, _, object in
        guard let reading = object as? Reading else { return }
        dict["someDate"] = reading.date
        dict["someInt"] = reading.number
      })
    #expect(database.register(index, withName: "index"))
    func store(_ add: Int, _ shift: Double) throws {
      try connection.readWrite { transaction in
        for number in 0..<20 {
          let reading = Reading(date: start.addingTimeInterval(Double(number) + shift), number: number + add)
          transaction.setObject(reading, forKey: "key\(number)", inCollection: "readings")
        }
      }
    }
    try store(0, 0)
    for connection in [connection, other] {
      try connection.read { transaction throws in
        func count(_ query: String, _ parameters: Any...) throws -> Int {
          let query = YapDatabaseQuery(string: query, parameters: parameters)
          var (number, steps): (UInt, Int) = (0, 0)
          #expect(try self.index(transaction).getNumberOfRows(&number, matching: query))
          try self.index(transaction).enumerateKeysAndObjects(matching: query) { _, _, object, _ in
            if object is Reading { steps += 1 }
          }
          #expect(steps == Int(number))
          return steps
        }
        #expect(try count("WHERE someInt < 5") == 5)
        #expect(try count("WHERE someInt < ?", 5) == 5)
        #expect(try count("WHERE someDate < ?", start.addingTimeInterval(5)) == 5)
        #expect(try count("WHERE someDate < ? AND someInt < ?", start.addingTimeInterval(5), 4) == 4)
        #expect(try count("WHERE someInt IN (?)", [2, 4, 5.5, 9]) == 3)
      }
    }
    try store(100, 4)
    for connection in [connection, other] {
      try connection.read { transaction throws in
        let query = YapDatabaseQuery(string: "WHERE someInt < 105", parameters: [])
        #expect(try keys("WHERE someInt < 105", [], transaction).count == 5)
        #expect(try self.index(transaction).numberOfRows(matching: query) == 5)
        let end = start.addingTimeInterval(4 + 5)
        #expect(try keys("WHERE someDate < ?", [end], transaction).count == 5)
        #expect(try keys("WHERE someDate < ? AND someInt < ?", [end, 104], transaction).count == 4)
      }
    }
  }

  @Test("A row that is not to be indexed any more leaves the index at once") func originalIssue104() throws {
    let handler = YapDatabaseSecondaryIndexHandler.withObjectBlock { _, dict, _, _, object in
      guard let text = object as? String, text.hasPrefix("like ") else { return }
      dict["str"] = text
    }
    let index = YapDatabaseSecondaryIndex(setup: Self.setup(["str": .text]), handler: handler)
    #expect(database.register(index, withName: "index"))
    try connection.readWrite { transaction throws in
      transaction.setObject("like this", forKey: "a", inCollection: nil)
      transaction.setObject("unlike that", forKey: "b", inCollection: nil)
      #expect(try keys("WHERE str LIKE 'like %'", [], transaction) == ["a"])
    }
    try connection.readWrite { transaction throws in
      transaction.setObject("not any more", forKey: "a", inCollection: nil)
      transaction.setObject("like this", forKey: "b", inCollection: nil)
      #expect(try keys("WHERE str LIKE 'like %'", [], transaction) == ["b"])
    }
    #expect(try keys("") == ["b"])
  }

  @Test("Functions are computed over the rows that are found") func originalAggregateTest() throws {
    let index = YapDatabaseSecondaryIndex(
      setup: Self.setup(["department": .text, "salary": .real]),
      handler: .withObjectBlock { _, dict, _, _, object in
        guard let employee = object as? Employee else { return }
        dict["department"] = employee.department
        dict["salary"] = employee.salary
      })
    #expect(database.register(index, withName: "index"))
    let staff = [
      ("managers", 60_000), ("developers", 70_000), ("managers", 90_000), ("developers", 80_000), ("support", 30_000),
      ("developers", 100_000), ("support", 35_000),
    ]
    try connection.readWrite { transaction in
      for (number, (department, salary)) in staff.enumerated() {
        let employee = Employee(department: department, salary: salary)
        transaction.setObject(employee, forKey: "\(number)", inCollection: "staff")
      }
    }
    func value(_ function: String, _ query: String = "", _ parameters: Any...) throws -> Any? {
      try other.read { transaction in
        try self.index(transaction).performAggregateQuery(
          YapDatabaseQuery(aggregateFunction: function, string: query, parameters: parameters))
      }
    }
    #expect(try value("SUM(salary)", "WHERE department == ?", "managers") as? Double == 150_000)
    #expect(try value("SUM(salary)", "WHERE department == \"developers\"") as? Double == 250_000)
    #expect(try value("AVG(salary)", "WHERE department = 'support'") as? Double == 32_500)
    #expect(try value("count(*)") as? Int == 7 && value("COUNT(DISTINCT department)") as? Int == 3)
    #expect(try value("MIN(salary)") as? Double == 30_000 && value("MAX(department)") as? String == "support")
    #expect(try value("MAX(salary)", "WHERE department < ?", "m") as? Double == 100_000)
    #expect(try value("SUM(salary)", "WHERE salary < 0") == nil && value("MIN(salary)", "WHERE salary < 0") == nil)
    #expect(try value("TOTAL(salary)", "WHERE salary < 0") as? Double == 0)
    #expect(try value("SUM(salary)", "ORDER BY salary DESC LIMIT 2") as? Double == 190_000)
    let numbers = try other.read { try self.index($0).rowids(forKeys: ["0", "2", "nobody"], inCollection: "staff") }
    #expect(numbers.count == 2)
    #expect(try value("SUM(salary)", "WHERE rowid IN (?)", Array(numbers.values)) as? Double == 150_000)
  }

  @Test("A list among the parameters takes the place of its ?") func originalQueryTest() {
    func query(_ text: String, _ parameters: Any...) -> (String, Int) {
      let query = YapDatabaseQuery(string: text, parameters: parameters)
      return (query.queryString, query.queryParameters.count)
    }
    #expect(query("WHERE a == ? AND b == ?", 1, "x") == ("WHERE a == ? AND b == ?", 2))
    #expect(query("WHERE a IN (?)", [1, 2, 3, 4, 5]) == ("WHERE a IN (?,?,?,?,?)", 5))
    #expect(query("WHERE a IN (?) AND b == ?", [1, 2], "x") == ("WHERE a IN (?,?) AND b == ?", 3))
    #expect(query("WHERE b == ? AND a IN (?)", "x", ["?", "?"]) == ("WHERE b == ? AND a IN (?,?)", 3))
    #expect(query("WHERE a IN (?) AND b IN (?)", [1], [2, 3, 4]) == ("WHERE a IN (?) AND b IN (?,?,?)", 4))
    #expect(query("WHERE a IN (?)", [Int]()) == ("WHERE a IN (?)", 1))
    #expect(query("WHERE a = '?' AND b IN (?)", [1, 2]) == ("WHERE a = '?' AND b IN (?,?)", 2))
    #expect(YapDatabaseQuery(string: "WHERE a IN (?)", parameters: [[Int]()]).queryParameters.first is NSNull)
    let all = YapDatabaseQuery.matchingAll()
    #expect(all.queryString == "" && !all.isAggregateQuery && all.aggregateFunction == nil)
    #expect(YapDatabaseQuery(aggregateFunction: "MAX(a)").isAggregateQuery)
  }

  // MARK: Following rows

  @Test("The index follows changes, removals, clearing and rollbacks") func following() throws {
    #expect(database.register(texts(), withName: "index"))
    try set(["a": "one", "b": "three"], in: "left")
    try set(["c": "seven", "d": ""], in: "right")
    #expect(try keys("WHERE length > 3 ORDER BY text") == ["c", "b"] && keys("").count == 3)
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try connection.readWrite { transaction throws in
        transaction.setObject("eleven", forKey: "a", inCollection: "left")
        transaction.removeAllObjects(inCollection: "right")
        #expect(try keys("ORDER BY rowid", [], transaction) == ["a", "b"])
        #expect(try keys("WHERE length = 6", [], transaction) == ["a"])
        transaction.fail(Stop())
      }
    }
    #expect(try keys("WHERE length = 6").isEmpty && keys("") == ["a", "b", "c"])
    try connection.readWrite { $0.removeObjects(forKeys: ["a", "x"], inCollection: "left") }
    #expect(try keys("") == ["b", "c"])
    try connection.readWrite { $0.removeAllObjects(inCollection: "left") }
    #expect(try keys("") == ["c"])
    try connection.readWrite { $0.removeAllObjectsInAllCollections() }
    #expect(try keys("").isEmpty && keys("WHERE length IS NOT NULL").isEmpty)
    try set(["a": "again"])
    #expect(try keys("WHERE text = 'again'") == ["a"])
  }

  @Test("A savepoint of the new API takes the index back with the rows") func savepoints() throws {
    #expect(database.register(texts(), withName: "index"))
    try set(["a": "one"], in: "c")
    struct Stop: Error {}
    try database.quire.write { tx in
      #expect(throws: Stop.self) {
        try tx.savepoint {
          try tx[.texts("c")].set("seventeen", for: "a")
          try tx[.texts("c")].set("two", for: "b")
          throw Stop()
        }
      }
      try tx[.texts("c")].set("five", for: "c")
    }
    #expect(try keys("ORDER BY text") == ["c", "a"] && keys("WHERE length = 9").isEmpty)
  }

  @Test("Rows that were there before are taken in, and an old snapshot shows what it had") func snapshots() throws {
    try set(["a": "one", "b": "three"])
    #expect(try other.read { $0.ext("index") == nil })
    #expect(database.register(texts(), withName: "index"))
    #expect(try keys("WHERE length < 5") == ["a"])
    try other.beginLongLivedReadTransaction()
    try set(["a": "seventeen", "c": "two"])
    #expect(try keys("WHERE length < 5") == ["a"])
    try other.beginLongLivedReadTransaction()
    #expect(try keys("WHERE length < 5") == ["c"])
    other.endLongLivedReadTransaction()
  }

  @Test("A collection that goes alone takes the index of it alone along") func clearingOne() throws {
    let options = YapDatabaseSecondaryIndexOptions()
    options.allowedCollections = YapWhitelistBlacklist(whitelist: ["left"])
    #expect(database.register(texts(options), withName: "index"))
    try set(["a": "one", "b": "two"], in: "left")
    try set(["c": "three"], in: "right")
    #expect(try keys("") == ["a", "b"])
    try connection.readWrite { $0.removeAllObjects(inCollection: "right") }
    #expect(try keys("") == ["a", "b"])
    try connection.readWrite { transaction in
      transaction.removeAllObjects(inCollection: "left")
      transaction.setObject("four", forKey: "d", inCollection: "left")
    }
    #expect(try keys("") == ["d"] && keys("WHERE length BETWEEN 1 AND 9") == ["d"])
  }

  // MARK: Registration

  private func reopen(_ database: YapDatabase) throws -> YapDatabase {
    try database.close()
    let again = try YapDatabase(url: database.databaseURL)
    YapFixture.register(again)
    return again
  }

  /// An index that counts in `asked` which rows its block is called for.
  private func counting(
    _ asked: Recorder, _ version: String, _ columns: KeyValuePairs<String, YapDatabaseSecondaryIndexType>,
    isPersistent: Bool = true
  ) -> YapDatabaseSecondaryIndex {
    let options = YapDatabaseSecondaryIndexOptions()
    options.isPersistent = isPersistent
    return YapDatabaseSecondaryIndex(
      setup: Self.setup(columns),
      handler: .withKeyBlock { _, dict, _, key in
        asked.append(key)
        dict["name"] = key
      }, versionTag: version, options: options)
  }

  @Test("A stored index is kept, and built anew with another version or other columns") func versions() throws {
    try set(["a": "one", "b": "two"])
    let asked = Recorder()
    func asks(_ database: YapDatabase, _ index: YapDatabaseSecondaryIndex) throws -> Int {
      asked.removeAll()
      #expect(database.register(index, withName: "index"))
      try database.newConnection().read { transaction throws in
        #expect(try keys("WHERE name < 'b'", [], transaction) == ["a"])
      }
      return asked.values.count
    }
    #expect(try asks(database, counting(asked, "1", ["name": .text])) == 2)
    let second = try reopen(database)
    #expect(try asks(second, counting(asked, "1", ["name": .text])) == 0)
    let third = try reopen(second)
    #expect(try asks(third, counting(asked, "2", ["name": .text])) == 2)
    let fourth = try reopen(third)
    #expect(try asks(fourth, counting(asked, "2", ["name": .text, "more": .integer])) == 2)
    let fifth = try reopen(fourth)
    #expect(try asks(fifth, counting(asked, "2", ["name": .text, "more": .integer], isPersistent: false)) == 2)
    let sixth = try reopen(fifth)
    #expect(try asks(sixth, counting(asked, "2", ["name": .text, "more": .integer], isPersistent: false)) == 2)
    sixth.unregisterExtension(withName: "index")
    #expect(try sixth.newConnection().read { $0.ext("index") == nil })
  }

  @Test("Names that mean something else are refused, and so is an index without columns") func refusedNames() {
    for columns in [
      ["": .text], ["rowid": .integer], ["OID": .integer], ["_RowID_": .integer], ["a": .text, "A": .real], [:],
    ] as [KeyValuePairs<String, YapDatabaseSecondaryIndexType>] {
      fixture.errors.removeAll()
      #expect(!database.register(texts(nil, columns), withName: "index"), "\(columns)")
      #expect(fixture.errors.values == ["invalidOption"], "\(columns)")
    }
    let setup = Self.setup(["a": .text, "b": .blob])
    #expect(setup.count() == 2 && setup.columnNames() == ["a", "b"] && setup.column(at: 2) == nil)
    #expect(setup.column(at: 1)?.name == "b" && setup.column(at: 1)?.type == .blob)
  }

  @Test("The same lines register an index again, others do not") func again() throws {
    for _ in 0..<2 {
      #expect(database.register(texts(), withName: "index"))
    }
    #expect(!database.register(texts(version: "2"), withName: "index"))
    #expect(fixture.errors.values == ["extensionExists"])
    let ext = connection.ext("index") as? YapDatabaseSecondaryIndexConnection
    #expect(ext?.secondaryIndex === database.registeredExtension("index") && ext?.connection === connection)
    #expect(ext?.queryCacheEnabled == true && ext?.queryCacheLimit == 10)
  }

  // MARK: Handlers

  @Test("Blocks are asked for what they look at, and when they said") func handlers() throws {
    let asked = Recorder()
    func register(_ handler: YapDatabaseSecondaryIndexHandler, _ name: String) {
      let index = YapDatabaseSecondaryIndex(setup: Self.setup(["text": .text]), handler: handler, versionTag: name)
      #expect(database.register(index, withName: name))
    }
    register(
      .withKeyBlock { _, dict, collection, key in
        asked.append("key")
        dict["text"] = "\(collection)/\(key)"
      }, "key")
    register(
      .withMetadataBlock { _, dict, _, _, metadata in
        asked.append("metadata")
        if let text = metadata as? String { dict["text"] = text }
      }, "metadata")
    register(
      .withRowBlock { transaction, dict, collection, key, object, metadata in
        asked.append("row")
        let same = transaction.object(forKey: key, inCollection: collection) as? String
        dict["text"] = "\(object as? String == same)\(metadata as? String ?? "-")"
      }, "row")
    register(
      .withObjectBlock(options: .ifObjectModified) { _, dict, _, _, object in
        asked.append("object")
        dict["text"] = object
      }, "object")
    let steps: [((YapDatabaseReadWriteTransaction) -> Void, [String])] = [
      ({ $0.setObject("o", forKey: "k", inCollection: "c") }, ["key", "metadata", "row", "object"]),
      ({ $0.setObject("p", forKey: "k", inCollection: "c", withMetadata: "m") }, ["metadata", "row", "object"]),
      ({ $0.replace("q", forKey: "k", inCollection: "c") }, ["row", "object"]),
      ({ $0.replaceMetadata("n", forKey: "k", inCollection: "c") }, ["metadata", "row"]),
      ({ $0.touchObject(forKey: "k", inCollection: "c") }, ["row"]),
      ({ $0.touchMetadata(forKey: "k", inCollection: "c") }, ["metadata", "row"]),
    ]
    for (step, expected) in steps {
      asked.removeAll()
      try connection.readWrite(step)
      #expect(asked.values == expected)
    }
    try other.read { transaction throws in
      func text(_ name: String) throws -> String? {
        let index = try #require(transaction.ext(name) as? YapDatabaseSecondaryIndexTransaction)
        var text: String?
        index.enumerateIndexedValues(inColumn: "TEXT", matching: .matchingAll()) { value, _ in text = value as? String }
        return text
      }
      #expect(try text("key") == "c/k" && text("metadata") == "n" && text("row") == "truen" && text("object") == "q")
    }
  }

  @Test("Columns store values by SQLite's affinities") func affinities() throws {
    let columns: KeyValuePairs<String, YapDatabaseSecondaryIndexType> = [
      "integer": .integer, "real": .real, "numeric": .numeric, "text": .text, "blob": .blob,
    ]
    let values: [String: any Sendable] = [
      "int": 7, "whole": 7.0, "real": 7.5, "digits": "12", "point": " 1.50 ", "word": "word", "true": true,
      "data": Data([1, 0, 2]), "date": Date(timeIntervalSinceReferenceDate: 3.25), "null": NSNull(),
      "float": Float(0.5),
      "large": UInt64.max, "nan": Double.nan, "byte": UInt8(200),
    ]
    let index = YapDatabaseSecondaryIndex(
      setup: Self.setup(columns),
      handler: .withKeyBlock { _, dict, _, key in for (name, _) in columns { dict[name] = values[key] } })
    #expect(database.register(index, withName: "index"))
    try connection.readWrite { transaction in
      for key in values.keys { transaction.setObject("object", forKey: key, inCollection: nil) }
    }
    func stored(_ key: String) throws -> [String] {
      try other.read { transaction in
        try columns.map { name, _ in
          let number = try #require(try self.index(transaction).rowids(forKeys: [key], inCollection: nil)[key])
          var found = ""
          try self.index(transaction).iterateIndexedValues(
            inColumn: name, matching: YapDatabaseQuery(string: "WHERE rowid = ?", parameters: [number])
          ) { value, _ in
            switch value {
            case let data as Data: found = "\(Array(data))"
            case let text as String: found = "“\(text)”"
            case is NSNull: found = "null"
            default: found = "\(value)"
            }
          }
          return found
        }
      }
    }
    #expect(try stored("int") == ["7", "7.0", "7", "“7”", "7"])
    #expect(try stored("whole") == ["7", "7.0", "7", "“7.0”", "7.0"])
    #expect(try stored("real") == ["7.5", "7.5", "7.5", "“7.5”", "7.5"])
    #expect(try stored("digits") == ["12", "12.0", "12", "“12”", "“12”"])
    #expect(try stored("point") == ["1.5", "1.5", "1.5", "“ 1.50 ”", "“ 1.50 ”"])
    #expect(try stored("word") == Array(repeating: "“word”", count: 5))
    #expect(try stored("true") == ["1", "1.0", "1", "“1”", "1"])
    #expect(try stored("data") == Array(repeating: "[1, 0, 2]", count: 5))
    #expect(try stored("date") == ["3.25", "3.25", "3.25", "“3.25”", "3.25"])
    #expect(try stored("null") == Array(repeating: "null", count: 5))
    #expect(try stored("nan") == Array(repeating: "null", count: 5))
    #expect(try stored("float") == ["0.5", "0.5", "0.5", "“0.5”", "0.5"])
    #expect(try stored("byte") == ["200", "200.0", "200", "“200”", "200"])
    #expect(try stored("large")[4] == "\(Double(UInt64.max))")
    #expect(
      try keys("WHERE \"real\" > 3 AND [real] < 4 AND `text` = ?", Date(timeIntervalSinceReferenceDate: 3.25)) == [
        "date"
      ])
  }

  // MARK: Enumerations

  @Test("An enumeration must not go on after its block has changed rows") func mutation() throws {
    #expect(database.register(texts(), withName: "index"))
    try set(["a": "one", "b": "two", "c": "three"])
    typealias Enumeration = (YapDatabaseSecondaryIndexTransaction, () -> Void, Bool) -> Void
    let all = YapDatabaseQuery.matchingAll()
    let enumerations: [Enumeration] = [
      { index, change, stops in
        index.enumerateKeys(matching: all) { _, _, stop in
          change(); stop.pointee = stops
        }
      },
      { index, change, stops in
        index.iterateKeysAndMetadata(matching: all) {
          change(); $3 = stops
        }
      },
      { index, change, stops in
        index.iterateKeysAndObjects(matching: all) {
          change(); $3 = stops
        }
      },
      { index, change, stops in
        index.enumerateRows(matching: all) {
          change(); $4.pointee = stops
        }
      },
      { index, change, stops in
        index.iterateIndexedValues(inColumn: "text", matching: all) {
          change(); $1 = stops
        }
      },
    ]
    for enumerate in enumerations {
      for stops in [true, false] {
        let code = errorCode {
          try connection.readWrite { transaction in
            enumerate(try index(transaction), { transaction.removeObject(forKey: "c", inCollection: nil) }, stops)
            transaction.setObject("three", forKey: "c", inCollection: nil)
          }
        }
        #expect(code == (stops ? nil : .mutatedDuringIteration))
      }
    }
    #expect(try keys("WHERE text LIKE 'T%' ORDER BY text").count == 2)
  }

  @Test("Stopping ends an enumeration, and halves of rows come as they are") func stopping() throws {
    #expect(database.register(texts(), withName: "index"))
    try fixture.fill("c", 4)
    try connection.read { transaction in
      let index = try index(transaction)
      var seen: [String] = []
      index.enumerateKeysAndMetadata(matching: YapDatabaseQuery(string: "LIMIT 2 OFFSET 1")) {
        collection, key, metadata, _ in
        seen.append("\(collection)/\(key) \(metadata ?? "-")")
      }
      #expect(seen == ["c/key2 metadata", "c/key3 metadata"])
      seen = []
      index.iterateRows(matching: YapDatabaseQuery(string: "ORDER BY rowid DESC")) { _, key, object, metadata, stop in
        seen.append("\(key) \(object) \(metadata ?? "-")")
        stop = seen.count == 2
      }
      #expect(seen == ["key4 object metadata", "key3 object metadata"])
    }
  }
}
