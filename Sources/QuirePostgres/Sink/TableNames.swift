// Names of tables.

#if Postgres
  internal import QuireStorage

  /// What the table of a collection is called.
  enum TableNames {
    /// Names of tables and indexes of mirrors and hubs.
    private static let reserved: Set<String> = [
      "quire_feed", "quire_collection", "quire_rejected", "quire_edge", "quire_hub", "quire_hub_member",
      "quire_hub_push", "quire_hub_row", "quire_hub_row_seq",
    ]

    /// The plain name: that of the collection behind `quire_`, if it is one that PostgreSQL takes. Tables and indexes
    /// share their names, and the index of a table's keys has the name of the table and `_pkey`.
    static func plain(_ collection: String) -> String {
      let name = "quire_" + collection
      let isPlain = collection.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }
      let fits = isPlain && !collection.isEmpty && name.utf8.count <= PostgresDeclarations.longestName
      let isFree = !reserved.contains(name) && !name.hasSuffix("_pkey")
      return fits && isFree ? name : hashed(collection, "")
    }

    /// A name that no other collection has, and no collection of another feed.
    static func hashed(_ collection: String, _ feed: String) -> String {
      let plain = collection.unicodeScalars.filter { $0.isASCII && ($0.properties.isAlphabetic || $0 == "_") }
      let readable = String(plain.prefix(30).map(Character.init))
      return "quire_\(readable)_\(hash(collection + "\u{0}" + feed))"
    }

    /// The name of a collection as a text that PostgreSQL takes.
    static func readable(_ collection: String) -> String {
      collection.utf8.contains(0) ? "\(collection.utf8.count) bytes" : collection
    }

    /// The name of an index.
    static func index(_ table: String, _ columns: [String]) -> String {
      "quire_\(hash(table + "\u{0}" + columns.joined(separator: "\u{0}")))"
    }

    /// 16 digits.
    private static func hash(_ text: String) -> String {
      let bytes = Array(text.utf8)
      let hash = bytes.withUnsafeBytes { bytes in
        bytes.baseAddress.map { XXH3.hash($0, count: bytes.count, seed: 0) } ?? 0
      }
      let digits = String(hash, radix: 16)
      return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
  }
#endif
