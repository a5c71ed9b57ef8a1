// Closures that read, each with changes that do not concern it and with one that does.

import QuireDatabase
import Testing

/// A closure, what does not concern it, and what does.
struct ObservedReading: Sendable, CustomTestStringConvertible {
  let name: String
  let body: @Sendable (ReadTransaction) throws -> String
  let unrelated: @Sendable (WriteTransaction) throws -> Void
  let related: @Sendable (WriteTransaction) throws -> Void
  var testDescription: String { name }

  init(
    _ name: String, _ body: @escaping @Sendable (ReadTransaction) throws -> String,
    unrelated: @escaping @Sendable (WriteTransaction) throws -> Void,
    related: @escaping @Sendable (WriteTransaction) throws -> Void
  ) {
    self.name = name
    self.body = body
    self.unrelated = unrelated
    self.related = related
  }

  static let all: [ObservedReading] = [
    ObservedReading("an object") { tx in
      try tx[.songs].get("s10")?.title ?? "none"
    } unrelated: { tx in
      try tx[.songs].replaceMetadata(PlayState(plays: 0), for: "s10")
      try tx[.songs].set(Song("x"), for: "s11")
      try tx[.songs].remove("s12")
    } related: { tx in
      try tx[.songs].replace(Song("y"), for: "s10")
    },
    ObservedReading("an object that is removed") { tx in
      try tx[.songs].get("s10")?.title ?? "none"
    } unrelated: { tx in
      try tx[.songs].set(Song("x"), for: "s1")
    } related: { tx in
      try tx[.songs].remove("s10")
    },
    ObservedReading("an object that is not there") { tx in
      try tx[.songs].get("new")?.title ?? "none"
    } unrelated: { tx in
      try tx[.songs].set(Song("x"), for: "newer")
    } related: { tx in
      try tx[.songs].set(Song("y"), for: "new")
    },
    ObservedReading("a collection that is not there") { tx in
      try tx[.texts("no")].get("k") ?? "none"
    } unrelated: { tx in
      try tx[.texts("yes")].set("x", for: "k")
    } related: { tx in
      try tx[.texts("no")].set("y", for: "k")
    },
    ObservedReading("metadata") { tx in
      "\(try tx[.songs].metadata("s10")?.plays ?? -1)"
    } unrelated: { tx in
      try tx[.songs].replace(Song("x"), for: "s10")
      try tx[.songs].touchObject("s10")
    } related: { tx in
      try tx[.songs].replaceMetadata(PlayState(plays: 0), for: "s10")
    },
    ObservedReading("a row") { tx in
      "\(try tx[.songs].row("s10").map { "\($0.object.title)\($0.metadata?.plays ?? -1)" } ?? "")"
    } unrelated: { tx in
      try tx[.songs].remove("s11")
    } related: { tx in
      try tx[.songs].replaceMetadata(PlayState(plays: 0), for: "s10")
    },
    ObservedReading("a row as bytes") { tx in
      "\(try tx.rawRows("songs").row("s10")?.object ?? [])"
    } unrelated: { tx in
      try tx[.songs].remove("s11")
    } related: { tx in
      try tx[.songs].replace(Song("longer"), for: "s10")
    },
    ObservedReading("whether there is a row") { tx in
      "\(try tx[.songs].contains("s10"))"
    } unrelated: { tx in
      try tx[.songs].set(Song("x"), for: "s10")
      try tx[.songs].touch("s10")
    } related: { tx in
      try tx[.songs].remove("s10")
    },
    ObservedReading("a row's id") { tx in
      guard let id = try tx.rowID(of: RowKey("songs", "s10")) else { return "none" }
      return "\(try tx.key(of: id)?.key ?? "gone")"
    } unrelated: { tx in
      try tx[.songs].set(Song("x"), for: "s10")
      try tx[.songs].set(Song("x"), for: "s9")
    } related: { tx in
      try tx[.songs].remove("s10")
    },
    ObservedReading("a count") { tx in
      "\(tx[.songs].count)"
    } unrelated: { tx in
      try tx[.songs].set(Song("x"), metadata: PlayState(plays: 1), for: "s10")
      try tx[.texts("other")].set("1", for: "new")
    } related: { tx in
      try tx[.songs].set(Song("x"), for: "s99")
    },
    ObservedReading("a count that does not change") { tx in
      "\(tx[.songs].count)"
    } unrelated: { tx in
      try tx[.songs].touch("s10")
    } related: { tx in
      try tx[.songs].remove("s10")
      try tx[.songs].set(Song("x"), for: "s99")
    },
    ObservedReading("the count of a part") { tx in
      "\(try tx[.songs].count("s12"..<"s14"))"
    } unrelated: { tx in
      try tx[.songs].remove(["s11", "s14"])
      try tx[.songs].set(Song("x"), for: "s13")
    } related: { tx in
      try tx[.songs].remove("s13")
    },
    ObservedReading("the count of a prefix") { tx in
      "\(try tx[.songs].count(prefix: "s1"))"
    } unrelated: { tx in
      try tx[.songs].remove(["s20", "s29"])
      try tx[.songs].set(Song("x"), for: "s0")
    } related: { tx in
      try tx[.songs].set(Song("x"), for: "s1")
    },
    ObservedReading("keys") { tx in
      tx[.songs].keys(prefix: "s1").joined()
    } unrelated: { tx in
      try tx[.songs].set(Song("x"), for: "s10")
      try tx[.songs].remove("s20")
    } related: { tx in
      try tx[.songs].remove("s19")
    },
    ObservedReading("keys with metadata") { tx in
      tx[.songs].metadata("s10"..."s12").map { "\($0.metadata?.plays ?? -1)" }.joined()
    } unrelated: { tx in
      try tx[.songs].replace(Song("x"), for: "s11")
      try tx[.songs].remove("s13")
    } related: { tx in
      try tx[.songs].replaceMetadata(nil, for: "s12")
    },
    ObservedReading("rows of a part") { tx in
      tx[.songs].rows("s10"..<"s12").map(\.object.title).joined()
    } unrelated: { tx in
      try tx[.songs].replace(Song("x"), for: "s12")
    } related: { tx in
      try tx[.songs].replace(Song("x"), for: "s11")
    },
    ObservedReading("the first row") { tx in
      tx[.songs].rows.first?.object.title ?? "none"
    } unrelated: { tx in
      try tx[.songs].remove(["s11", "s20"])
    } related: { tx in
      try tx[.songs].set(Song("x"), for: "a")
    },
    ObservedReading("the first keys") { tx in
      // The last one that the loop has come to is one that it has read.
      var keys = tx[.songs].keys.makeIterator()
      return "\(keys.next() ?? "-") \(keys.next() ?? "-")"
    } unrelated: { tx in
      try tx[.songs].remove(["s12", "s20"])
    } related: { tx in
      try tx[.songs].remove("s11")
    },
    ObservedReading("the last rows") { tx in
      // Step by step: an array of all keys would have read them all.
      var keys = tx[.songs].keys.reversed().makeIterator()
      return "\(keys.next() ?? "-") \(keys.next() ?? "-")"
    } unrelated: { tx in
      try tx[.songs].remove(["s10", "s20", "s27"])
      try tx[.songs].set(Song("x"), for: "a")
    } related: { tx in
      try tx[.songs].set(Song("x"), for: "t")
    },
    ObservedReading("several rows") { tx in
      try tx[.songs].objects(for: ["s10", "no"]).map(\.title).joined()
    } unrelated: { tx in
      try tx[.songs].remove("s11")
      try tx[.songs].replaceMetadata(nil, for: "s10")
    } related: { tx in
      try tx[.songs].set(Song("x"), for: "no")
    },
    ObservedReading("the list of collections") { tx in
      tx.collections.joined(separator: ",")
    } unrelated: { tx in
      try tx[.songs].remove("s10")
      try tx[.songs].set(Song("x"), for: "s99")
    } related: { tx in
      try tx[.texts("brand new")].set("x", for: "k")
    },
    ObservedReading("collections with a key") { tx in
      try tx.collections(containing: "k").joined()
    } unrelated: { tx in
      try tx[.songs].set(Song("x"), for: "s99")
    } related: { tx in
      try tx[.songs].set(Song("x"), for: "k")
    },
    ObservedReading("the number of all rows") { tx in
      "\(tx.count)"
    } unrelated: { tx in
      try tx[.songs].set(Song("x"), for: "s10")
    } related: { tx in
      try tx[.texts("other")].set("x", for: "new")
    },
    ObservedReading("a row in a collection that is cleared") { tx in
      try tx[.songs].get("s10")?.title ?? "none"
    } unrelated: { tx in
      try tx[.texts("other")].removeAll()
    } related: { tx in
      try tx[.songs].removeAll()
    },
    ObservedReading("a row when everything is cleared") { tx in
      try tx[.songs].get("s10")?.title ?? "none"
    } unrelated: { tx in
      try tx[.texts("other")].set("1", for: "k")
    } related: { tx in
      try tx.removeAll()
    },
    ObservedReading("a row that is touched") { tx in
      try tx[.songs].get("s10")?.title ?? "none"
    } unrelated: { tx in
      try tx[.songs].touchMetadata("s10")
    } related: { tx in
      try tx[.songs].touch("s10")
    },
  ]
}
