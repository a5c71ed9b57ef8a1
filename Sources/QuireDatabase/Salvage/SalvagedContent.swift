// What is kept of extensions that have content of their own.

internal import QuireStorage

/// An entry of a tree of an extension, as the damaged database has it.
public struct SalvagedContentEntry: Sendable {
  /// The key's bytes; none of an integer.
  public let key: [UInt8]
  /// The key, if it is an integer.
  public let integerKey: Int64?
  /// The value's bytes.
  public let value: [UInt8]

  init(_ entry: SalvagedEntry) {
    integerKey = entry.integerKey
    key = unsafe entry.integerKey == nil ? [UInt8](entry.key) : []
    value = unsafe [UInt8](entry.value)
  }
}

/// How the content of one kind of extension is salvaged that no row tells again, such as edges made by hand.
///
/// `quiredb salvage` asks those that it knows: of relationships and of manual views. Without one for its kind, all
/// trees and values of such an extension are copied as they are.
public protocol SalvagedContent {
  /// The kind of the extensions, as `DatabaseExtension.kind`.
  static var kind: String { get }
  /// The version of their form; of another version everything is copied as it is.
  static var formatVersion: UInt32 { get }

  /// Begins with one extension.
  init()

  /// Takes an entry of one of its trees; trees come in no certain order.
  mutating func take(_ entry: SalvagedContentEntry, of tree: String, into target: SalvagedContentTarget) throws

  /// All entries have been taken. Returns those of the damaged trees whose damage has cost something.
  mutating func finish(_ damaged: Set<String>, into target: SalvagedContentTarget) throws -> Set<String>
}

/// Where the content of one extension goes. For the one thread that salvages, and no longer than the call that it is
/// handed to.
public final class SalvagedContentTarget {
  private let tx: QuireStorage.WriteTransaction
  private let rows: Tree
  private let id: ExtensionID
  private let report: (SalvageFinding) throws -> Void
  /// The name of the extension.
  public let name: String
  /// Entries stored so far.
  private(set) var entryCount = 0
  private var trees: [ByteString: Tree] = [:]

  init(
    _ tx: borrowing QuireStorage.WriteTransaction, _ rows: Tree, _ id: ExtensionID, _ name: String,
    _ report: @escaping (SalvageFinding) throws -> Void
  ) {
    self.tx = QuireStorage.WriteTransaction(sharing: tx)
    (self.rows, self.id, self.name, self.report) = (rows, id, name, report)
  }

  /// Whether a row is in the new database.
  public func hasRow(_ row: Int64) throws -> Bool { try tx.contains(row, in: rows) }

  /// Tells of something that is lost.
  public func lose(_ what: String) throws { try report(SalvageFinding(.lostContent, what)) }

  /// Stores an entry in a tree with keys of bytes, unless the key is there, or longer than keys are. Returns whether it
  /// did.
  @discardableResult
  public func insert(_ key: [UInt8], _ value: [UInt8], in tree: String) throws -> Bool {
    guard key.count <= QuireStorage.Limits.keyByteCount else { return false }
    let isNew = try tx.insert(value, for: key, in: try self.tree(tree, .bytes))
    entryCount += isNew ? 1 : 0
    return isNew
  }

  /// The same in a tree with integer keys.
  @discardableResult
  public func insert(_ key: Int64, _ value: [UInt8], in tree: String) throws -> Bool {
    let isNew = try tx.insert(value, for: key, in: try self.tree(tree, .int64))
    entryCount += isNew ? 1 : 0
    return isNew
  }

  /// Stores an entry as it is.
  func copy(_ entry: SalvagedEntry, of kind: KeyKind, to tree: String) throws {
    let target = try self.tree(tree, kind)
    if let key = entry.integerKey {
      unsafe try tx.put(entry.value, for: key, in: target)
    } else {
      unsafe try tx.put(entry.value, for: entry.key, in: target)
    }
    entryCount += 1
  }

  /// The tree of the extension with a name, which is made if it is not there.
  private func tree(_ name: String, _ kind: KeyKind) throws -> Tree {
    if let known = trees[ByteString(name)] { return known }
    let made = try tx.createTree(id.treeName(name), keys: kind)
    trees[ByteString(name)] = made
    return made
  }
}
