// What newer versions of a program do to a database: collections get other names, and objects another type.

import QuireDatabase
import QuireTesting

/// What the two collections are called, and were.
struct ItemCollections: Equatable {
  private(set) var items = "items"
  private(set) var others = "others"
  private var count = 0
  /// Each name that one of them had, with its name of today.
  private(set) var former: [String: String] = [:]

  /// Gives one of them another name, from the next opening on.
  mutating func rename(isOther: Bool) {
    count += 1
    let (old, new) = isOther ? (others, "others\(count)") : (items, "items\(count)")
    for (name, today) in former where today == old { former[name] = new }
    former[old] = new
    if isOther { others = new } else { items = new }
  }

  /// The key under which the model keeps a row, by the name that its collection had first.
  func first(_ key: RowKey) -> RowKey { RowKey(key.collection == others ? "others" : "items", key.key) }

  /// The key that such a row has.
  func today(_ key: RowKey) -> RowKey { RowKey(key.collection == "others" ? others : items, key.key) }
}

/// What a newer version of a program has made of an item: fields in another order, and one that items do not have.
struct NewerItem: Codable, Sendable {
  var note: String?
  var rank: Int
  var group: String?

  private enum CodingKeys: String, CodingKey { case note, rank, group }

  init(rank: Int, group: String?) { (self.rank, self.group, note) = (rank, group, "newer") }
}

extension ViewHistory {
  /// Gives a collection another name at the next opening.
  func rename() {
    counts["renamed", default: 0] += 1
    collections.rename(isOther: random.oneIn(2))
  }

  /// A newer version of the program, in which items have another type and which has no views, changes rows.
  func writeAsNewer() throws -> Bool {
    counts["retyped", default: 0] += 1
    let newer = try openSimulated(disk, seed: random.next(), renamed: collections.former)
    try newer.write { tx throws in
      for _ in 0..<1 + random.below(6) {
        let name = random.oneIn(2) ? collections.items : collections.others
        let rows = tx[RowCollection<NewerItem, Int>(name)]
        let key = "k\(random.below(60))"
        switch random.below(4) {
        case 0: try rows.update(key) { $0.rank += 1 }
        case 1: try rows.remove(key)
        default:
          let group = random.oneIn(6) ? nil : ["a", "b", "", "ü"][random.below(4)]
          try rows.set(NewerItem(rank: random.below(12), group: group), metadata: random.below(30), for: key)
        }
      }
    }
    try newer.close()
    return true
  }
}
