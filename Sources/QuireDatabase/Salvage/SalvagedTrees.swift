// Which of the trees of a damaged file is which.

internal import QuireStorage

/// The trees of a damaged database by what they hold.
struct SalvagedTrees {
  var rows: SalvagedTree?
  var keys: SalvagedTree?
  var collections: SalvagedTree?
  var info: SalvagedTree?
  var dictionaries: SalvagedTree?
  /// What is noted about extensions.
  var extensions: SalvagedTree?
  /// The trees of extensions, by the extension's number, with the names that they have there.
  var contents: [UInt32: [(name: String, tree: SalvagedTree)]] = [:]
  var feeds: [(name: String, tree: SalvagedTree)] = []
  /// Trees of somebody else.
  var others: [(name: String, tree: SalvagedTree)] = []
  /// Trees whose name is lost, and of which nothing tells what they are.
  var unknown: [SalvagedTree] = []

  /// Whether it is a database of objects.
  var hasObjects: Bool { rows != nil || collections != nil || dictionaries != nil || info != nil }

  /// Sorts trees by their names. Of several with one name the first has it.
  init(_ trees: [SalvagedTree]) {
    var taken: Set<ByteString> = []
    for tree in trees {
      guard let name = tree.name else {
        unknown.append(tree)
        continue
      }
      if let part = Self.part(name) {
        // With keys of another kind it is nothing that this layer has made, nor is a second one.
        if tree.keyKind == part.keys, self[keyPath: part.path] == nil {
          self[keyPath: part.path] = tree
        } else {
          unknown.append(tree)
        }
      } else if !taken.insert(ByteString(name)).inserted {
        others.append((name, tree))
      } else if let (number, inner) = Self.extensionTree(name) {
        contents[number, default: []].append((inner, tree))
      } else if let feed = FeedKeys.feedName(name) {
        feeds.append((feed, tree))
      } else {
        others.append((name, tree))
      }
    }
  }

  private typealias Path = WritableKeyPath<Self, SalvagedTree?>

  private static func part(_ name: String) -> (path: Path, keys: KeyKind)? {
    switch name {
    case DatabaseTrees.rowsName: (\.rows, .int64)
    case DatabaseTrees.keysName: (\.keys, .bytes)
    case DatabaseTrees.collectionsName: (\.collections, .bytes)
    case DatabaseTrees.infoName: (\.info, .bytes)
    case DictionaryRecord.treeName: (\.dictionaries, .bytes)
    case ExtensionRecord.treeName: (\.extensions, .bytes)
    default: nil
    }
  }

  /// The number and the tree's name in `quire.extension.5.byName`; nil if it is no name that an extension's tree has.
  private static func extensionTree(_ name: String) -> (UInt32, String)? {
    let prefix = "quire.extension."
    guard name.utf8.starts(with: prefix.utf8) else { return nil }
    let rest = name.utf8.dropFirst(prefix.utf8.count)
    guard let dot = rest.firstIndex(of: UInt8(ascii: ".")),
      let number = UInt32(String(decoding: rest[..<dot], as: UTF8.self))
    else { return nil }
    let inner = String(decoding: rest[rest.index(after: dot)...], as: UTF8.self)
    // A number can be written in other ways, such as 05.
    let isUsual = ByteString(ExtensionID(rawValue: number).treeName(inner)) == ByteString(name)
    return isUsual && name.utf8.count <= QuireStorage.Limits.treeNameByteCount ? (number, inner) : nil
  }
}

extension SalvagedTrees {
  private struct Enough: Error {}

  /// Finds out by their content what trees are whose names are lost: looks at their first entries. Where there are
  /// neither rows nor what is noted of their format nothing is found, as other trees are not so certain to tell.
  mutating func recognize(_ reader: SalvageReader) throws {
    var trial = self
    try trial.recognizeAll(reader)
    if trial.rows != nil || trial.info != nil { self = trial }
  }

  private mutating func recognizeAll(_ reader: SalvageReader) throws {
    assert(Self.paths.count == Self.tests.count, "a tree is not told by its content")
    let unnamed = unknown
    unknown = []
    for tree in unnamed {
      var seen = 0
      var votes = Self.tests.map { _ in 0 }
      do {
        try reader.forEachEntry(of: tree) { entry throws in
          seen += 1
          for (index, test) in Self.tests.enumerated() where test(entry) { votes[index] += 1 }
          if seen == 64 { throw Enough() }
        }
      } catch is Enough {}
      // What fits all of its entries; the tests are in the order of how much they ask.
      let found = seen == 0 ? nil : votes.firstIndex(of: seen).map { Self.paths[$0] }
      // The two are made one behind the other; the trees of views have keys and values of the same form.
      let isElsewhere = found == \.keys && rows.map { $0.id.rawValue &+ 1 != tree.id.rawValue } ?? true
      if let found, self[keyPath: found] == nil, !isElsewhere {
        self[keyPath: found] = tree
      } else {
        unknown.append(tree)
      }
    }
  }

  private static var paths: [Path] { [\.rows, \.info, \.keys, \.extensions, \.dictionaries, \.collections] }

  /// Whether an entry may be of the tree with the same place in `paths`.
  private static let tests: [@Sendable (SalvagedEntry) -> Bool] = [
    { entry in
      guard entry.integerKey.flatMap(RowID.init(stored:)) != nil else { return false }
      let row = unsafe try? RowView(entry.value)
      return row.map { unsafe $0.collection.rawValue > 0 && $0.key.isUTF8 && $0.object.first.map { $0 <= 3 } == true }
        ?? false
    },
    { entry in
      [DatabaseTrees.formatKey, DatabaseTrees.nextCollectionIDKey, EncryptionSalt.saltKey].contains(bytes(of: entry))
    },
    { entry in
      guard let key = bytes(of: entry), unsafe key.count >= CollectionID.byteCount && entry.value.count == 8 else {
        return false
      }
      return unsafe Int64(littleEndianBytes: Array(entry.value)).flatMap(RowID.init(stored:)) != nil
    },
    { entry in
      guard let key = bytes(of: entry) else { return false }
      switch key.first {
      case UInt8(ascii: "n"): return unsafe key.count == 1 && entry.value.count == 4
      case UInt8(ascii: "r"): return unsafe (try? ExtensionRecord(Array(entry.value), name: "")) != nil
      case UInt8(ascii: "v"): return key.count > CollectionID.byteCount
      default: return false
      }
    },
    { entry in
      guard let key = bytes(of: entry), key.count == 8, let number = UInt32(bigEndianBytes: key.dropFirst(4)) else {
        return false
      }
      return unsafe number == 0 ? entry.value.count == 16 : 1...Limits.dictionaryByteCount ~= entry.value.count
    },
    { entry in
      guard let key = bytes(of: entry), let name = String(validating: key, as: UTF8.self) else { return false }
      return unsafe (try? CollectionFormat(Array(entry.value), name: name)) != nil
    },
  ]

  private static func bytes(of entry: SalvagedEntry) -> [UInt8]? {
    entry.integerKey == nil ? unsafe Array(entry.key) : nil
  }
}
