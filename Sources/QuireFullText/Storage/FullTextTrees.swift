// The trees and values of a full text in one transaction.

internal import QuireDatabase

/// The trees and values of a full text.
///
/// | tree | key | value |
/// |---|---|---|
/// | `blocks` | term, 0, the block's last row | up to 128 postings; a term of several blocks has a head, too |
/// | `positions` | that of the block | the positions of its postings, where they are too long for it |
/// | `recent` | term, 0, 1, row | a posting that was added |
/// | | term, 0, 2, row | nothing: the posting of that row in the blocks is void |
/// | `lengths` | number of a chunk of 256 row numbers | the lengths of these rows, see `LengthChunk` |
/// | `rows` | row | what tells the tokens of the row from others, see `TextRecord` |
/// | `changed` | row | while the full text is built: the record that the row has now, or nothing if it has none |
/// | `parts` | part, term, 0, piece | while it is built: postings that wait for their blocks |
///
/// What counts of a term are its postings in the blocks without those that are void, and those that were added. A row
/// whose posting has changed is among both.
final class FullTextTrees {
  let store: ExtensionStore
  let layout: TextLayout
  let blocks: ExtensionTree<[UInt8]>
  let recent: ExtensionTree<[UInt8]>
  // Trees that not every search reads, opened when they are asked for. Unchecked: for one thread, and no closure
  // changes what a call around it reads.
  @exclusivity(unchecked) private var openedPositions: ExtensionTree<[UInt8]>?
  @exclusivity(unchecked) private var openedLengths: ExtensionTree<[UInt8]>?
  @exclusivity(unchecked) private var openedRows: ExtensionTree<RowID>?
  @exclusivity(unchecked) private var openedChanged: ExtensionTree<RowID>?

  /// What the extension calls its kind.
  static let kind = "quire.fulltext"
  /// The version of the form in which it stores what it has.
  static let formatVersion: UInt32 = 1

  static let blocksName = "blocks"
  static let positionsName = "positions"
  static let recentName = "recent"
  static let lengthsName = "lengths"
  static let rowsName = "rows"
  static let changedName = "changed"
  static let partsName = "parts"

  init(_ store: ExtensionStore, _ layout: TextLayout) throws {
    (self.store, self.layout) = (store, layout)
    blocks = try store.tree(Self.blocksName, of: [UInt8].self)
    recent = try store.tree(Self.recentName, of: [UInt8].self)
    // In a write transaction trees that are missing are made, which must not happen inside of a walk.
    if store.writeTransaction != nil { _ = (try positions, try lengths, try rows, try changed) }
  }

  var positions: ExtensionTree<[UInt8]> {
    get throws {
      if let opened = unsafe openedPositions { return opened }
      let tree = try store.tree(Self.positionsName, of: [UInt8].self)
      unsafe openedPositions = tree
      return tree
    }
  }

  var lengths: ExtensionTree<[UInt8]> {
    get throws {
      if let opened = unsafe openedLengths { return opened }
      let tree = try store.tree(Self.lengthsName, of: [UInt8].self)
      unsafe openedLengths = tree
      return tree
    }
  }

  var rows: ExtensionTree<RowID> {
    get throws {
      if let opened = unsafe openedRows { return opened }
      let tree = try store.tree(Self.rowsName, of: RowID.self)
      unsafe openedRows = tree
      return tree
    }
  }

  var changed: ExtensionTree<RowID> {
    get throws {
      if let opened = unsafe openedChanged { return opened }
      let tree = try store.tree(Self.changedName, of: RowID.self)
      unsafe openedChanged = tree
      return tree
    }
  }

  /// Only while the full text is built: others do without it.
  var parts: ExtensionTree<[UInt8]> {
    get throws { try store.tree(Self.partsName, of: [UInt8].self) }
  }

  // MARK: Values

  private static let totalName = "totals"
  private static let definitionName = "definition"
  private static let stateName = "state"
  private static let handName = "hand"
  private static let clearCountName = "clears"
  private static let walkedName = "walked"

  /// How far building has come.
  enum State: Int {
    /// Nothing was built, and hooks note nothing.
    case unbuilt = 0
    /// The blocks are those of no rows yet, and hooks note in `recent` and in `changed` what happens meanwhile.
    case building = 1
    /// Everything is there.
    case ready = 2
  }

  /// How far building has come; of one whose beginning was not stored it is not begun.
  var state: State {
    get throws {
      guard let number: Int = try store.value(Self.stateName) else { return .unbuilt }
      guard let state = State(rawValue: number) else {
        throw damaged("values", Array(Self.stateName.utf8), "the state \(number) is none")
      }
      return state
    }
  }

  func setState(_ state: State) throws { try store.set(state.rawValue, for: Self.stateName) }

  /// The lengths of all rows together.
  var totalLength: UInt64 {
    get throws {
      guard let bytes: [UInt8] = try store.value(Self.totalName) else { return 0 }
      guard bytes.count == 8 else {
        throw damaged("values", Array(Self.totalName.utf8), "the total length has \(bytes.count) bytes")
      }
      return bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
  }

  func setTotalLength(_ total: UInt64) throws {
    try store.set((0..<8).map { UInt8(truncatingIfNeeded: total >> ($0 * 8)) }, for: Self.totalName)
  }

  /// Where merging goes on: behind this term.
  var hand: [UInt8] {
    get throws { try store.value(Self.handName) ?? [] }
  }

  func setHand(_ term: [UInt8]) throws { try store.set(term, for: Self.handName) }

  /// How often all rows were removed at once while it was built.
  var clearCount: Int {
    get throws { try store.value(Self.clearCountName) ?? 0 }
  }

  func setClearCount(_ count: Int) throws { try store.set(count, for: Self.clearCountName) }

  /// The rows whose postings are in `parts`, and whose records and lengths are stored.
  var walked: WalkedRows {
    get throws {
      guard let bytes: [UInt8] = try store.value(Self.walkedName) else { return WalkedRows() }
      guard let walked = WalkedRows(bytes) else {
        throw damaged("values", Array(Self.walkedName.utf8), "the rows that were walked past break the format")
      }
      return walked
    }
  }

  func setWalked(_ walked: WalkedRows) throws { try store.set(walked.bytes, for: Self.walkedName) }

  /// The definition that the trees were made by; nil if nothing was stored.
  var definition: [UInt8]? {
    get throws { try store.value(Self.definitionName) }
  }

  func setDefinition(_ definition: [UInt8]) throws { try store.set(definition, for: Self.definitionName) }

  /// Throws unless a snapshot can be searched.
  func checkReady() throws {
    guard try state == .ready else { throw FullTextError.notReady(fullText: layout.name) }
    guard try definition == layout.definition else {
      throw damaged("values", Array(Self.definitionName.utf8), "it was made by another definition")
    }
  }

  // MARK: Rows

  /// The number of rows with tokens. O(1).
  var documentCount: Int {
    get throws { try rows.count }
  }

  /// What is stored of a row; nil if it has no tokens, or if it is not there. O(log n).
  func record(of row: RowID) throws -> TextRecord? {
    try rows.withValue(for: row) { try self.record($0, of: row, inTree: Self.rowsName) }
  }

  /// A record of bytes.
  func record(_ bytes: RawSpan, of row: RowID, inTree tree: String) throws -> TextRecord {
    guard let record = TextRecord(bytes) else {
      throw damaged(tree, row.orderedBytes, "the record of \(row) breaks the format")
    }
    return record
  }

  // MARK: Errors

  /// The error for what is wrong in a tree, at a key.
  func damaged(_ tree: String, _ key: [UInt8], _ detail: String) -> FullTextError {
    .damaged(
      fullText: layout.name, tree: tree, key: key.isEmpty ? nil : Self.description(ofKey: key, inTree: tree),
      detail: detail)
  }

  /// A key for people: the term, and the row.
  private static func description(ofKey key: [UInt8], inTree tree: String) -> String {
    switch tree {
    case blocksName, positionsName:
      guard let parsed = unsafe TermKeys.parseBlock(key.span.bytes) else { break }
      return text(key.prefix(parsed.termByteCount)) + (parsed.lastRow.map { " up to \($0)" } ?? " (head)")
    case recentName:
      guard let parsed = unsafe TermKeys.parseRecent(key.span.bytes) else { break }
      return "\(text(key.prefix(parsed.termByteCount))) of \(parsed.row) (\(parsed.isAdded ? "added" : "removed"))"
    case partsName:
      guard let parsed = unsafe TermKeys.parsePiece(key.span.bytes) else { break }
      return text(key.dropFirst(4).prefix(parsed.termByteCount)) + " of part \(parsed.part), piece \(parsed.number)"
    case rowsName, changedName:
      if let row = RowID(orderedBytes: key) { return "\(row)" }
    case lengthsName:
      guard let number = unsafe LengthChunk.number(ofKey: key.span.bytes) else { break }
      return "rows from \(RowID(ordered: number << 8).rawValue)"
    default: break
    }
    return text(key[...])
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    "“" + (String(validating: bytes, as: UTF8.self) ?? "\(Array(bytes))") + "”"
  }
}

/// What is stored of the tokens of a row.
///
///     varint   the number of tokens, in all fields
///     8 bytes  a hash of them, of their fields and positions, the lowest byte first
struct TextRecord: Hashable {
  /// The number of tokens in all fields, at least 1.
  let length: UInt64
  let hash: UInt64

  init(length: UInt64, hash: UInt64) {
    assert(length > 0, "a row without tokens has a record")
    (self.length, self.hash) = (length, hash)
  }

  /// The record of bytes; nil if they break the format.
  init?(_ bytes: RawSpan) {
    let parsed = unsafe bytes.withUnsafeBytes { bytes -> (UInt64, UInt64)? in
      var reader = unsafe ByteReader(bytes)
      guard let length = reader.varint(), length > 0, length <= Int64.max, reader.remainingCount == 8,
        let hash = unsafe reader.take(8)
      else { return nil }
      return (length, unsafe UInt64(littleEndian: hash.loadUnaligned(as: UInt64.self)))
    }
    guard let parsed else { return nil }
    (length, hash) = parsed
  }

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(12)
    bytes.appendVarint(length)
    for shift in 0..<UInt64(8) { bytes.append(UInt8(truncatingIfNeeded: hash >> (shift * 8))) }
    return bytes
  }
}
