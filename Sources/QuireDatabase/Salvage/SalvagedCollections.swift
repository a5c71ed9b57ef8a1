// Collections of a damaged database: names, fields, coders and dictionaries.

internal import QuireStorage

/// A collection of which something is left.
struct SalvagedCollection {
  /// The name that it gets; nil as long as none is known.
  var name: String?
  /// Whether name and format are of the newest state.
  var isNameCurrent = false
  /// What is noted of it, in its stored form; nil if that is lost.
  var format: [UInt8]?
  var dictionaries: [UInt32: CompressionDictionary] = [:]
  var record: DictionaryRecord?
  /// The highest number of a dictionary that a row names.
  var lastDictionary: UInt32 = 0
  var kept = 0
  var old = 0
  var lost = 0
}

/// The collections of a damaged database by their numbers.
struct SalvagedCollections {
  private(set) var all: [CollectionID: SalvagedCollection] = [:]
  private var names: Set<ByteString> = []
  /// The next number as it was noted.
  var noted: UInt32 = 1

  subscript(id: CollectionID) -> SalvagedCollection {
    get { all[id] ?? SalvagedCollection() }
    set { all[id] = newValue }
  }

  /// The name of a collection, or the one that it gets in its stead.
  func name(of id: CollectionID) -> String { self[id].name ?? "salvaged.\(id.rawValue)" }

  /// Counts a row without a copy of what is known of the collection.
  mutating func count(_ id: CollectionID, _ change: (inout SalvagedCollection) -> Void) {
    change(&all[id, default: SalvagedCollection()])
  }

  /// Whether a number can be a collection's.
  static func isPossible(_ id: CollectionID) -> Bool { id.rawValue > 0 && id.rawValue < .max }

  /// Takes an entry of the collection tree. Returns what is wrong with it. Of two names for one number the one of the
  /// newest state stays: the other is what the collection was called once.
  mutating func take(_ key: [UInt8], _ value: [UInt8], isCurrent: Bool) -> String? {
    guard let name = String(validating: key, as: UTF8.self), key.count <= Limits.collectionNameByteCount else {
      takeFields(value)
      return "the name of a collection is no text"
    }
    guard let (format, isWhole) = Self.readFormat(value) else {
      return "what is noted of “\(name)” breaks the format"
    }
    if let known = all[format.id], let other = known.name {
      if known.isNameCurrent == isCurrent { return "“\(name)” has the number of “\(other)”" }
      if known.isNameCurrent { return nil }
      names.remove(ByteString(other))
    }
    count(format.id) { ($0.name, $0.format, $0.isNameCurrent) = (name, format.bytes, isCurrent) }
    names.insert(ByteString(name))
    return isWhole ? nil : "the coders of “\(name)” are unknown"
  }

  /// Keeps the fields of a collection whose name cannot be read, unless those of a name are there.
  private mutating func takeFields(_ value: [UInt8]) {
    guard let (format, _) = Self.readFormat(value) else { return }
    count(format.id) { if $0.format == nil { $0.format = format.bytes } }
  }

  /// What is noted of a collection, and whether it can be read with its coders, which stand in the last two bytes.
  private static func readFormat(_ value: [UInt8]) -> (format: CollectionFormat, isWhole: Bool)? {
    if let format = try? CollectionFormat(value, name: "") { return (format, true) }
    return (try? CollectionFormat(Array(value.dropLast(2)), name: "")).map { ($0, false) }
  }

  /// Takes an entry of the tree of dictionaries. Returns what is wrong with it.
  mutating func takeDictionary(_ key: [UInt8], _ value: [UInt8]) -> String? {
    guard key.count == 2 * CollectionID.byteCount, let id = UInt32(bigEndianBytes: key.prefix(CollectionID.byteCount)),
      let number = UInt32(bigEndianBytes: key.dropFirst(CollectionID.byteCount)),
      Self.isPossible(CollectionID(id))
    else { return "an entry is no dictionary" }
    do {
      if number == 0 {
        let record = try DictionaryRecord(value)
        count(CollectionID(id)) { $0.record = record }
      } else {
        let dictionary = unsafe try CompressionDictionary(number: number, value.span.bytes)
        count(CollectionID(id)) { $0.dictionaries[number] = dictionary }
      }
      return nil
    } catch {
      return "\(error)"
    }
  }

  /// Gives collections whose names are lost, and of which there are rows, names of their own. Returns what to tell.
  mutating func nameRest() -> [SalvageFinding] {
    var findings: [SalvageFinding] = []
    for id in all.keys.sorted() where self[id].name == nil && self[id].kept > 0 {
      var name = self.name(of: id)
      while names.contains(ByteString(name)) { name += "'" }
      names.insert(ByteString(name))
      let fields = self[id].format
      let format = CollectionFormat(
        id: id, objectSchema: RowSchema(), metadataSchema: RowSchema(), coders: StoredCoders())
      count(id) { ($0.name, $0.format) = (name, fields ?? format.bytes) }
      let (what, help) =
        fields == nil
        ? (", and the names of its fields", "; binary rows whose fields stand by number need the fields from a backup")
        : ("; its fields are kept", "")
      var finding = SalvageFinding(
        .lostName,
        """
        The name of collection \(id.rawValue) is lost\(what): its rows are in “\(name)”. The app can give it the name \
        back with `renamedCollections`\(help).
        """, count: self[id].kept)
      finding.collection = name
      findings.append(finding)
    }
    return findings
  }

  /// Stores all collections that have rows, and their dictionaries.
  func store(_ tx: borrowing QuireStorage.WriteTransaction, _ trees: DatabaseTrees) throws {
    var next = max(1, noted)
    var dictionaries: Tree?
    for id in all.keys.sorted() {
      let collection = self[id]
      assert(collection.kept >= 0 && collection.old <= collection.kept, "rows are counted twice")
      // Also a number whose rows are all lost is not given again: something may name it.
      next = max(next, id.rawValue + 1)
      guard collection.kept > 0, let name = collection.name, let format = collection.format else { continue }
      try tx.put(format, for: [UInt8](name.utf8), in: trees.collections)
      guard let record = collection.mendedRecord else { continue }
      let tree = try dictionaries ?? tx.createTree(DictionaryRecord.treeName, keys: .bytes)
      dictionaries = tree
      try tx.put(record.bytes, for: DictionaryRecord.key(id, 0), in: tree)
      for (number, dictionary) in collection.dictionaries.sorted(by: { $0.key < $1.key }) {
        unsafe try tx.put(dictionary.bytes, for: DictionaryRecord.key(id, number), in: tree)
      }
    }
    try tx.put(next.littleEndianBytes, for: DatabaseTrees.nextCollectionIDKey, in: trees.info)
  }
}

extension SalvagedCollection {
  /// The record of its dictionaries, as far as these are there; nil if there is nothing to note.
  fileprivate var mendedRecord: DictionaryRecord? {
    guard record != nil || !dictionaries.isEmpty || lastDictionary > 0 else { return nil }
    var mended = record ?? DictionaryRecord()
    let last = dictionaries.keys.max() ?? 0
    mended.lastNumber = max(mended.lastNumber, last, lastDictionary)
    if dictionaries[mended.current] == nil { mended.current = record == nil ? last : 0 }
    assert(mended.current <= mended.lastNumber, "a dictionary is in use whose number is still to be given")
    return mended
  }
}
