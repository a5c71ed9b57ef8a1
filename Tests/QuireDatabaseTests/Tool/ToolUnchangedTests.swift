// Commands that read change no byte, also of a database whose last changes are in its log alone.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

#if os(Linux)
  @Suite struct ToolUnchangedTests {
    private static let commands = [
      ["info"], ["info", "--json"], ["check"], ["stats"], ["collections"], ["count", "rows"], ["get", "rows", "k7"],
      ["scan", "rows"],
      ["export"], ["extensions"], ["views"], ["edges"], ["feed"], ["indexes"], ["pages"], ["page", "2"], ["log"],
      ["backup"],
      ["salvage"],
    ]

    private static func files(_ folder: TestFolder) throws -> [String: Data] {
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
      return try Dictionary(
        uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: folder.url.appendingPathComponent($0))) })
    }

    @Test(arguments: commands) func whatReadsChangesNoByte(_ command: [String]) throws {
      let (live, killed, new) = (try TestFolder(), try TestFolder(), try TestFolder())
      let db = try live.open()
      for number in 0..<30 { try db.write { tx throws in try tx[Self.rows].set(number, for: "k\(number)") } }
      // What a process that is killed leaves.
      for (name, bytes) in try Self.files(live) { try bytes.write(to: killed.url.appendingPathComponent(name)) }
      try db.close()
      let before = try Self.files(killed)
      #expect(before.keys.contains { $0.contains("-log") })
      var arguments = [command[0], killed.path] + command.dropFirst()
      if ["backup", "salvage"].contains(command[0]) { arguments.append(new.path) }
      let result = try #require(try runTool(arguments))
      #expect(result.status == 0, "\(result)")
      #expect(try Self.files(killed) == before)
      guard arguments.last == new.path else { return }
      let copy = try new.open()
      #expect(try copy.read { tx throws in try tx[Self.rows].get("k29") } == 29)
      try copy.close()
    }

    private static let rows = RowCollection<Int, NoMetadata>("rows")
  }
#endif
