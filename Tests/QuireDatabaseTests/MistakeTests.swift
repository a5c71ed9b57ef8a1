// What the compiler says to those who write what is often written and cannot be meant.

#if os(Linux) || os(macOS)
  import Foundation
  import QuireTesting
  import Testing

  /// The compiler that the tests were built with, if it and the modules are still there.
  private enum Compiler {
    /// Whether a program that is right compiles: it then tells of wrong ones.
    static let isThere: Bool = errors(in: "try db.write { tx in try tx[.songs].set(Song(), for: \"s1\") }") == []

    /// What every program here begins with.
    private static let beginning = """
      import QuireDatabase
      struct Song: Codable, Sendable { var seconds = 1 }
      struct Album: Codable, Sendable { var year = 1 }
      extension RowCollection where Object == Song, Metadata == NoMetadata {
        static var songs: Self { .init("songs") }
      }
      func fetch() async throws -> Song { Song() }
      struct Plain: Sendable { var a = 1 }

      """

    /// The compiler's errors about the body of a function that may throw, or about other declarations; nil if there is
    /// no compiler, or if it has no modules.
    static func errors(in body: String, isAsync: Bool = false, declares: Bool = false) -> [String]? {
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("mistake-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: folder) }
      let head = "func run(_ db: Database) \(isAsync ? "async " : "")throws {\n"
      let program = beginning + (declares ? body : head + body + "\n}") + "\n"
      let file = folder.appendingPathComponent("Program.swift")
      let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Sources").path
      guard (try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)) != nil,
        (try? Data(program.utf8).write(to: file)) != nil,
        let modules = Bundle.main.executableURL?.resolvingSymlinksInPath().deletingLastPathComponent()
          .appendingPathComponent("Modules").path,
        let result = runProgram(
          "/usr/bin/env",
          ["swiftc", "-typecheck", "-swift-version", "6", "-parse-as-library", "-I", modules]
            + ["CQuirePlatform", "CLZ4"].flatMap {
              ["-Xcc", "-fmodule-map-file=\(sources)/\($0)/module.modulemap"]
            } + [file.path],
          environment: ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" })
      else { return nil }
      if result.status == 0 { return [] }
      let errors = result.output.split(separator: "\n").filter { $0.hasPrefix(file.path) && $0.contains(": error: ") }
      return errors.isEmpty ? nil : errors.map(String.init)
    }
  }

  @Suite("The compiler says what to write", .enabled(if: Compiler.isThere))
  struct MistakeTests {
    private func expect(
      _ message: String, _ body: String, isAsync: Bool = false, declares: Bool = false,
      at place: SourceLocation = #_sourceLocation
    ) throws {
      let errors = try #require(
        Compiler.errors(in: body, isAsync: isAsync, declares: declares), sourceLocation: place)
      #expect(errors.contains { $0.contains(message) }, "\(errors)", sourceLocation: place)
    }

    @Test("of a type that is not Codable") func codable() throws {
      try expect(
        "'init(_:)' is unavailable: Objects and metadata of a collection are Codable and Sendable",
        """
        extension RowCollection where Object == Plain, Metadata == NoMetadata {
          static var plains: Self { .init("plains") }
        }
        """, declares: true)
      try expect(
        "'init(_:)' is unavailable: Objects and metadata of a collection are Codable and Sendable",
        """
        extension RowCollection where Object == Song, Metadata == Plain {
          static var plains: Self { .init("plains") }
        }
        """, declares: true)
    }

    @Test("to who awaits in the closure of a transaction") func awaiting() throws {
      try expect(
        "'write' is unavailable: The closure of a transaction cannot await",
        """
        try await db.write { tx in
          let song = try await fetch()
          try tx[.songs].set(song, for: "s1")
        }
        """, isAsync: true)
      try expect(
        "'write' is unavailable: The closure of a transaction cannot await",
        "try db.write { tx in try await tx[.songs].set(fetch(), for: \"s1\") }")
      try expect(
        "'read' is unavailable: The closure of a transaction cannot await",
        """
        let seconds = try await db.read { tx in
          let song = try await fetch()
          return song.seconds
        }
        print(seconds)
        """, isAsync: true)
    }

    @Test("to who stores an object in the collection of another type") func otherCollection() throws {
      try expect(
        "cannot convert value of type 'Album' to expected argument type 'Song'",
        "try db.write { tx in try tx[.songs].set(Album(), for: \"a1\") }")
    }

    @Test("to who names a collection without its types") func names() throws {
      let message = "'subscript(_:)' is unavailable: Rows have types, and a name has none"
      try expect(message, "_ = try db.read { tx in try tx[\"songs\"].get(\"s1\") }")
      try expect(message, "try db.write { tx in try tx[\"songs\"].set(Song(), for: \"s1\") }")
    }

    @Test("to who misspells a collection") func misspelt() throws {
      let message = "type 'UndescribedCollection' has no member 'song'"
      try expect(message, "print(try db.read { tx in try tx[.song].get(\"s1\") as Song? })")
    }

    @Test("to who counts rows one by one") func counting() throws {
      try expect(
        "'count' is unavailable: Rows are counted without reading them",
        "print(try db.read { tx in tx[.songs].rows(prefix: \"s\").count })")
      try expect(
        "'count' is unavailable: Keys are counted without reading them",
        "print(try db.read { tx in tx[.songs].keys(from: \"a\").count })")
    }

    @Test("to who takes rows for a dictionary") func dictionary() throws {
      try expect(
        "'subscript(_:)' is unavailable: Rows are read by", "try db.write { tx in tx[.songs][\"s1\"] = Song() }")
      try expect("'subscript(_:)' is unavailable: Rows are read by", "print(try db.read { tx in tx[.songs][\"s1\"] })")
    }

    @Test("to who stores or removes rows in a read") func readOnly() throws {
      let message = "is unavailable: This transaction reads"
      try expect(message, "try db.read { tx in try tx[.songs].set(Song(), for: \"s1\") }")
      try expect(message, "try db.read { tx in try tx[.songs].remove(\"s1\") }")
    }
  }
#endif
