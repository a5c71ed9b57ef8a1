// The changes of an entry of a feed, one behind the other. Numbers are varints: 7 bits per byte, lowest first, bit 7
// set in all but the last byte.
//
//     64    a collection that the entry has not named yet; what follows is about it: its number (varint), the length of
//           its name (varint), the name
//     65    the same, and behind the name the hash of the form of its values, 8 bytes little-endian
//     66    what follows is about a collection that the entry has named: its place in the order of names (varint)
//     67    all rows of the collection were removed
//     68    all rows of all collections were removed
//     69    a collection was renamed: the length of the old name (varint) and the name, then those of the new one
//     else  a row: the kind of `ChangeLog` (1 inserted, 2 removed, 5 to 7 changed, with the halves in bits 0 and 1),
//           with 16 if the new value follows and 32 if the old one does; the row's number (varint), the length of its
//           key (varint), the key, the new value, the old value
//
// A value: the length of the metadata and 1, or 0 if there are none (varint), the metadata, the length of the object
// (varint), the object; each in a stored form that needs no dictionary, or encrypted as it stands in the row.

internal import QuireStorage

/// A collection as an entry names it.
struct FeedCollection: Hashable {
  let id: CollectionID
  let name: String
  /// The hash of the form of its values, where values are kept.
  let form: UInt64?
}

/// Where the halves of a value stand in the bytes of a body.
struct FeedHalves: Hashable {
  let metadata: Range<Int>?
  let object: Range<Int>
}

/// One change of an entry.
enum FeedItem {
  case row(ChangeLog.Kind, FeedCollection, RowID, key: String, new: FeedHalves?, old: FeedHalves?)
  case cleared(FeedCollection)
  case clearedAll
  case renamed(from: String, to: String)
}

/// The numbers of the form: never change one.
enum FeedCode {
  static let collection: UInt8 = 64
  static let collectionWithForm: UInt8 = 65
  static let knownCollection: UInt8 = 66
  static let cleared: UInt8 = 67
  static let clearedAll: UInt8 = 68
  static let renamed: UInt8 = 69
  static let newValue: UInt8 = 16
  static let oldValue: UInt8 = 32
}

/// The changes of an entry, decompressed. May be any bytes.
struct FeedBody: Sendable {
  let bytes: [UInt8]

  /// Calls `body` with each change in its order, and returns how many there are.
  func forEach(_ body: (FeedItem) throws -> Void) throws -> Int {
    try unsafe bytes.withUnsafeBytes { buffer in
      var reader = unsafe FeedBodyReader(buffer)
      var count = 0
      while let item = try reader.next() {
        count += 1
        try body(item)
      }
      return count
    }
  }
}

/// Reads a body from its beginning to its end.
@safe private struct FeedBodyReader {
  private let bytes: UnsafeRawBufferPointer
  private var offset = 0
  private var collections: [FeedCollection] = []
  private var current: FeedCollection?

  init(_ bytes: UnsafeRawBufferPointer) { unsafe self.bytes = bytes }

  /// The next change; nil at the end.
  mutating func next() throws(DatabaseError) -> FeedItem? {
    while unsafe offset < bytes.count {
      let code = unsafe bytes[offset]
      offset += 1
      switch code {
      case FeedCode.collection, FeedCode.collectionWithForm:
        guard let number = UInt32(exactly: try varint()), number > 0, number < .max else { throw damaged() }
        let name = try text()
        let form = code == FeedCode.collectionWithForm ? try word() : nil
        let collection = FeedCollection(id: CollectionID(number), name: name, form: form)
        collections.append(collection)
        current = collection
      case FeedCode.knownCollection:
        let place = try varint()
        guard place < UInt64(collections.count) else { throw damaged() }
        current = collections[Int(place)]
      case FeedCode.cleared: return .cleared(try known())
      case FeedCode.clearedAll: return .clearedAll
      case FeedCode.renamed: return .renamed(from: try text(), to: try text())
      default: return try row(code)
      }
    }
    return nil
  }

  private mutating func row(_ code: UInt8) throws(DatabaseError) -> FeedItem {
    let collection = try known()
    guard code < FeedCode.collection, let kind = ChangeLog.Kind(code: code & 15), kind.isStored,
      let rowID = RowID(stored: Int64(truncatingIfNeeded: try varint()))
    else { throw damaged() }
    let key = try text()
    let new = code & FeedCode.newValue != 0 ? try halves() : nil
    let old = code & FeedCode.oldValue != 0 ? try halves() : nil
    return .row(kind, collection, rowID, key: key, new: new, old: old)
  }

  private func known() throws(DatabaseError) -> FeedCollection {
    guard let current else { throw damaged() }
    return current
  }

  private mutating func halves() throws(DatabaseError) -> FeedHalves {
    let metadataCount = try varint()
    let metadata = metadataCount > 0 ? try range(metadataCount - 1) : nil
    return FeedHalves(metadata: metadata, object: try range(try varint()))
  }

  /// The next `count` bytes.
  private mutating func range(_ count: UInt64) throws(DatabaseError) -> Range<Int> {
    guard unsafe count <= UInt64(bytes.count - offset) else { throw damaged() }
    defer { offset += Int(count) }
    return offset..<offset + Int(count)
  }

  private mutating func text() throws(DatabaseError) -> String {
    let range = try range(try varint())
    guard let text = unsafe String(storedUTF8: UnsafeRawBufferPointer(rebasing: bytes[range])) else { throw damaged() }
    return text
  }

  private mutating func word() throws(DatabaseError) -> UInt64 {
    let range = try range(8)
    return UInt64(littleEndian: unsafe bytes.loadUnaligned(fromByteOffset: range.lowerBound, as: UInt64.self))
  }

  private mutating func varint() throws(DatabaseError) -> UInt64 {
    guard let value = unsafe Varint.read(bytes, at: &offset) else { throw damaged() }
    return value
  }

  private func damaged() -> DatabaseError {
    FeedEntryHead.damaged("The changes of an entry make no sense at byte \(offset).")
  }
}

/// Puts a body together.
struct FeedBodyBuilder {
  /// The head of the entry will be put in front.
  private(set) var bytes: [UInt8]
  private(set) var changeCount = 0
  /// The collection that was named first, and the places of those behind it: most bodies name one.
  private var firstID: CollectionID?
  private var places: [CollectionID: Int] = [:]
  /// The collection that the following changes are of.
  private(set) var currentID: CollectionID?

  /// Begins a body.
  init() {
    bytes = []
    bytes.reserveCapacity(128)
  }

  /// What a change is undone to.
  struct Place {
    fileprivate let byteCount: Int
    fileprivate let changeCount: Int
    fileprivate let collectionCount: Int
    fileprivate let currentID: CollectionID?
  }

  private var collectionCount: Int { firstID == nil ? 0 : places.count + 1 }

  var place: Place {
    Place(
      byteCount: bytes.count, changeCount: changeCount, collectionCount: collectionCount, currentID: currentID)
  }

  /// Whether there are changes in front of a place, and behind it.
  func isMore(than place: Place) -> Bool { place.changeCount > 0 && changeCount > place.changeCount }

  /// Takes back what was appended behind a place.
  mutating func truncate(to place: Place) {
    bytes.removeLast(bytes.count - place.byteCount)
    changeCount = place.changeCount
    currentID = place.currentID
    guard collectionCount > place.collectionCount else { return }
    places = places.filter { $0.value < place.collectionCount }
    if place.collectionCount == 0 { firstID = nil }
  }

  /// Says which collection the following changes are of.
  mutating func select(_ collection: FeedCollection) {
    if currentID == collection.id { return }
    currentID = collection.id
    if let place = firstID == collection.id ? 0 : places[collection.id] {
      bytes.append(FeedCode.knownCollection)
      append(varint: UInt64(place))
      return
    }
    if firstID == nil { firstID = collection.id } else { places[collection.id] = collectionCount }
    bytes.append(collection.form == nil ? FeedCode.collection : FeedCode.collectionWithForm)
    append(varint: UInt64(collection.id.rawValue))
    append(collection.name)
    if let form = collection.form { bytes += form.littleEndianBytes }
  }

  /// Appends a change of a row of the collection that was selected; its values are appended behind it.
  mutating func append(
    _ kind: UInt8, _ rowID: RowID, _ key: UnsafeRawBufferPointer, hasNew: Bool = false, hasOld: Bool = false
  ) {
    assert(currentID != nil, "a row is told of without its collection")
    changeCount += 1
    bytes.append(kind | (hasNew ? FeedCode.newValue : 0) | (hasOld ? FeedCode.oldValue : 0))
    append(varint: UInt64(bitPattern: rowID.rawValue))
    append(varint: UInt64(key.count))
    unsafe bytes.append(contentsOf: key)
  }

  /// Appends a value of the change before.
  mutating func append(metadata: UnsafeRawBufferPointer?, object: UnsafeRawBufferPointer) {
    append(varint: unsafe metadata.map { UInt64($0.count) + 1 } ?? 0)
    if let metadata = unsafe metadata { unsafe bytes.append(contentsOf: metadata) }
    append(varint: UInt64(object.count))
    unsafe bytes.append(contentsOf: object)
  }

  /// Says that all rows of the collection that was selected were removed.
  mutating func appendCleared() {
    changeCount += 1
    bytes.append(FeedCode.cleared)
  }

  /// Says that all rows were removed.
  mutating func appendClearedAll() {
    changeCount += 1
    bytes.append(FeedCode.clearedAll)
  }

  /// Says that a collection was renamed.
  mutating func appendRenamed(from old: String, to new: String) {
    changeCount += 1
    bytes.append(FeedCode.renamed)
    append(old)
    append(new)
  }

  private mutating func append(_ text: String) {
    append(varint: UInt64(text.utf8.count))
    bytes.append(contentsOf: text.utf8)
  }

  @inline(__always) private mutating func append(varint value: UInt64) { Varint.append(value, to: &bytes) }
}
