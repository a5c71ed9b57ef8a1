// What the database notes about an extension.
//
// The tree `quire.extensions` holds, all numbers little-endian:
//
//     "n"                                   the number of the next extension (4 bytes)
//     "r" and the extension's name          a record, as below
//     "v", its number (4 bytes, big-endian), and a name    a value that the extension has set
//
// A record: number (4), state (1), format version (4), row id (8), then kind, version, and the names of the extensions
// it depends on, each with its length (4) in front; the number of these stands before them (4). Behind that, but
// not in every file: whether it keeps content of its own (1), and the collections whose rows it follows: 0 for any, 1
// for these, 2 for all but these (1), their number (4) and their names like the others.

internal import QuireStorage

/// The number of an extension: part of the names of its trees, and never given again.
struct ExtensionID: Hashable, Comparable, Sendable {
  let rawValue: UInt32
  static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension ExtensionID {
  /// The name that a tree of the extension has in the engine.
  func treeName(_ name: String) -> String {
    // Every transaction that reads an extension makes some.
    var text = "quire.extension."
    text.reserveCapacity(32 + name.utf8.count)
    text += String(rawValue)
    text += "."
    text += name
    return text
  }
  /// What the names of all of its trees begin with.
  var treePrefix: String { treeName("") }

  /// Extensions in memory count from here.
  static let firstInMemory: UInt32 = 1 << 31
}

/// What is noted about an extension under its name.
struct ExtensionRecord: Hashable, Sendable {
  /// The tree that records stand in.
  static let treeName = "quire.extensions"

  /// How far an extension is.
  enum State: Hashable, Sendable {
    /// Rows with ids up to this one are in it, and it follows their changes; the others are not.
    case building(through: RowID)
    /// It has all rows.
    case ready
    /// Rows were changed while it was not registered: it has to be built anew.
    case stale
  }

  var id: ExtensionID
  var state: State
  var kind: String
  var formatVersion: UInt32
  var version: String
  var dependencies: [String]
  /// Whether its trees hold what cannot be made of the rows again.
  var keepsOwnContent = false
  /// The collections whose changes concern it; nil in a record that does not say, so that all do.
  var collections: CollectionFilter.Stored?

  /// The same with the names that the program has for collections.
  func shown(by aliases: CollectionAliases) -> ExtensionRecord {
    var record = self
    record.collections = collections?.renamed(aliases.shownName)
    return record
  }

  // MARK: Bytes

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    Self.append(id.rawValue, to: &bytes)
    let (code, through): (UInt8, Int64) =
      switch state {
      case .building(let rowID): (1, rowID.rawValue)
      case .ready: (2, 0)
      case .stale: (3, 0)
      }
    bytes.append(code)
    Self.append(formatVersion, to: &bytes)
    Self.append(through, to: &bytes)
    Self.append(kind, to: &bytes)
    Self.append(version, to: &bytes)
    Self.append(UInt32(truncatingIfNeeded: dependencies.count), to: &bytes)
    for name in dependencies { Self.append(name, to: &bytes) }
    guard let collections else { return bytes }
    bytes.append(keepsOwnContent ? 1 : 0)
    let (form, names): (UInt8, Set<ByteString>) =
      switch collections {
      case .any: (0, [])
      case .only(let names): (1, names)
      case .except(let names): (2, names)
      }
    bytes.append(form)
    Self.append(UInt32(truncatingIfNeeded: names.count), to: &bytes)
    for name in names.map(\.string).sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
      Self.append(name, to: &bytes)
    }
    return bytes
  }

  private static func append(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
    bytes += number.littleEndianBytes
  }

  private static func append(_ text: String, to bytes: inout [UInt8]) {
    append(UInt32(truncatingIfNeeded: text.utf8.count), to: &bytes)
    bytes.append(contentsOf: text.utf8)
  }

  init(
    id: ExtensionID, state: State, kind: String, formatVersion: UInt32, version: String, dependencies: [String]
  ) {
    self.id = id
    self.state = state
    self.kind = kind
    self.formatVersion = formatVersion
    self.version = version
    self.dependencies = dependencies
  }

  /// Reads what `bytes` wrote; the bytes may be anything.
  ///
  /// - Throws: `damagedRow`.
  init(_ bytes: [UInt8], name: String) throws(DatabaseError) {
    var reader = Reader(bytes: bytes)
    guard let id = reader.number(UInt32.self), let code = reader.number(UInt8.self),
      let formatVersion = reader.number(UInt32.self), let through = reader.number(Int64.self),
      let kind = reader.text(), let version = reader.text(), let count = reader.number(UInt32.self),
      count <= bytes.count, id < .max
    else { throw Self.damaged(name) }
    var dependencies: [String] = []
    for _ in 0..<count {
      guard let dependency = reader.text() else { throw Self.damaged(name) }
      dependencies.append(dependency)
    }
    let state: State? =
      switch code {
      case 1: .building(through: RowID(through))
      case 2: .ready
      case 3: .stale
      default: nil
      }
    guard let state, through >= 0 else { throw Self.damaged(name) }
    self.init(
      id: ExtensionID(rawValue: id), state: state, kind: kind, formatVersion: formatVersion, version: version,
      dependencies: dependencies)
    if reader.isAtEnd { return }
    guard let keeps = reader.number(UInt8.self), keeps <= 1, let collections = reader.collections(), reader.isAtEnd
    else { throw Self.damaged(name) }
    keepsOwnContent = keeps == 1
    self.collections = collections
  }

  static func damaged(_ name: String) -> DatabaseError {
    DatabaseError(
      .damagedRow,
      "What is noted about the extension “\(name)” breaks the format. Unregister the extension, and register it again.")
  }

  /// Takes bytes apart that may end anywhere.
  private struct Reader {
    let bytes: [UInt8]
    var offset = 0

    var isAtEnd: Bool { offset == bytes.count }

    mutating func number<Number: FixedWidthInteger>(_: Number.Type) -> Number? {
      let count = MemoryLayout<Number>.size
      guard bytes.count - offset >= count else { return nil }
      defer { offset += count }
      return unsafe bytes.withUnsafeBytes {
        Number(littleEndian: unsafe $0.loadUnaligned(fromByteOffset: offset, as: Number.self))
      }
    }

    mutating func collections() -> CollectionFilter.Stored? {
      guard let form = number(UInt8.self), let count = number(UInt32.self), count <= bytes.count else { return nil }
      var names: Set<ByteString> = []
      for _ in 0..<count {
        guard let name = text() else { return nil }
        names.insert(ByteString(name))
      }
      switch form {
      case 0: return .any
      case 1: return .only(names)
      case 2: return .except(names)
      default: return nil
      }
    }

    mutating func text() -> String? {
      guard let length = number(UInt32.self), bytes.count - offset >= Int(length) else { return nil }
      defer { offset += Int(length) }
      return String(validating: bytes[offset..<offset + Int(length)], as: UTF8.self)
    }
  }
}
