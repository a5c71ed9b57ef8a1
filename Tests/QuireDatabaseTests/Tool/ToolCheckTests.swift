// What `quiredb check` finds above pages.

import Foundation
import Quire
import QuireStorage
import QuireTesting
import Testing

#if os(Linux)
  @Suite struct ToolCheckTests {
    let library: ToolLibrary

    init() throws { library = try ToolLibrary() }

    private func check(
      _ arguments: String..., status: Int32, at line: SourceLocation = #_sourceLocation
    ) throws -> String {
      let result = try #require(try runTool(["check", library.path] + arguments), sourceLocation: line)
      #expect(result.status == status, "\(result)", sourceLocation: line)
      if status == 1 {
        #expect(result.errors.contains("defects") && result.errors.contains(library.path), sourceLocation: line)
      }
      return result.output
    }

    @Test func allRowsThatDoNotDecodeAreListed() throws {
      let db = try library.open()
      let notes = RowCollection<[String: Int], NoMetadata>("notes", coder: .json)
      try db.write { tx throws in
        for number in 0..<5 {
          try tx[notes].set(["n": number], for: "good \(number)")
          try tx[notes].set(["n": number], encoded: [UInt8(ascii: "{"), 1], for: "bad \(number)")
        }
      }
      try db.close()
      let all = try check(status: 1).split(separator: "\n")
      #expect(all.count == 5)
      for (number, line) in all.enumerated() {
        #expect(line.contains("collection “notes”, key “bad \(number)”") && line.contains("JSON"), "\(line)")
      }
      #expect(try check("--limit", "2", status: 1).split(separator: "\n").count == 2)
      #expect(try check("--pages-only", status: 0).contains("no defects"))
    }

    /// A row that goes without anybody being told: each extension that has it is named, with the row.
    @Test func whatIsMadeOfRowsNamesRowsThatExist() throws {
      #expect(try check(status: 0).contains("no defects"))
      let db = try library.open()
      let rowID = try #require(try db.read { tx throws in try tx.rowID(of: RowKey("songs", "s1")) })
      try db.close()
      let engine = try StorageEngine(at: library.path)
      try engine.write { tx in
        guard let rows = tx.tree(named: "quire.rows"), let keys = tx.tree(named: "quire.keys") else {
          Issue.record("the trees of rows have other names")
          return
        }
        try tx.delete(rowID.rawValue, in: rows)
        var found: [UInt8]?
        var cursor = try tx.cursor(keys)
        while try cursor.next(), let key = try cursor.readKey() {
          if key.dropFirst(4).elementsEqual("s1".utf8) { found = key }
        }
        if let found { try tx.delete(found, in: keys) }
      }
      try engine.close()
      let output = try check(status: 1)
      let number = "row \(rowID.rawValue)"
      #expect(output.contains("The view “songs.byAlbum” shows \(number), which does not exist"))
      #expect(output.contains("edge “album” has \(number) as its source") && output.contains("key “a1”"))
      #expect(output.contains("edge “likes” has \(number) as its destination") && output.contains("key “a0”"))
      #expect(output.contains("“songs.indexes” has the columns of \(number)"))
      #expect(output.contains("entry of the index “year” is of a row that does not exist"))
      #expect(try check("--limit", "2", status: 1).split(separator: "\n").count == 2)
    }

    @Test func whatIsOutOfDateIsNoDefect() throws {
      let db = try library.open()
      try db.write { tx throws in try tx[ToolLibrary.songs].remove("s0") }
      try db.close()
      #expect(try check(status: 0).contains("no defects"))
    }
  }
#endif
