// Registering and unregistering extensions, in their turn.

internal import Foundation
internal import Quire

/// Registers the extensions of one `YapDatabase`, one after the other.
///
/// The database is handed over with each call: it is closed when nobody keeps it, and who registers must not.
///
/// Invariants:
/// 1. What runs on `queue` runs in the order of the calls, and nothing else adds to `list` or removes from it.
/// 2. An extension is in `list` from before it is ready until it is unregistered, or could not be registered.
final class ExtensionRegistrar: Sendable {
  let list = ExtensionList()
  private let queue = DispatchQueue(label: "YapCompat.registrations")

  /// Runs a registration when those before it are done, without waiting for it.
  func async(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }

  /// Runs a registration when those before it are done.
  func inTurn(_ owner: YapDatabase, _ body: () throws -> Void) throws {
    guard !owner.threads.state(owner).isInside else {
      throw DatabaseError(
        .nestedTransaction, "Extensions cannot be registered inside of a transaction. Do it before, or after.",
        path: owner.quire.path)
    }
    try queue.sync {
      owner.threads.enter(owner)
      defer { owner.threads.leave() }
      try body()
    }
  }

  /// Registers an extension. The same one stays that was registered by the same line.
  func add(_ value: YapDatabaseExtension, _ name: String, _ site: CallSite, in owner: YapDatabase) throws {
    let quire = owner.quire
    if let first = list.registered(name), first.site.description == site.description,
      value.registeredName == nil, value.isSame(as: first.value)
    {
      return
    }
    if let taken = value.registeredName {
      throw DatabaseError(
        .extensionExists, "This extension is registered as “\(taken)” already. Make another one for “\(name)”.",
        path: quire.path)
    }
    guard list[name] == nil else {
      throw DatabaseError(
        .extensionExists, "An extension is registered as “\(name)” already. Unregister it, or choose another name.",
        path: quire.path)
    }
    try registerValues(quire)
    let made = try value.makeExtension(named: name, in: owner)
    // Told from the moment on at which it is ready: a transaction that asks earlier gets nil.
    list.add(value, name, at: site)
    do { try quire.register(made) } catch {
      list.remove(name)
      throw error
    }
  }

  /// Registers what keeps the values of extensions, unless it is: another `YapDatabase` over the same file may have.
  private func registerValues(_ quire: Database) throws {
    do { try quire.register(ExtensionValues()) } catch let error as DatabaseError
      where error.code == .extensionExists || error.code == .readOnly
    {}
  }

  /// Unregisters an extension and all that depend on it.
  func remove(_ name: String, in owner: YapDatabase) throws {
    let quire = owner.quire
    do {
      let removed = try quire.unregister(extensionNamed: name, keptBy: ExtensionValues()) { store, names in
        for name in names { try store.removeValues(beginningWith: ExtensionValues.key(name, "")) }
      }
      for gone in removed { list.remove(gone) }
    } catch let error as DatabaseError where error.code == .extensionNotRegistered {
      // Nothing is stored of an extension in memory but the values that it set in an earlier opening.
      try forgetValues(name, quire)
      throw error
    }
  }

  private func forgetValues(_ name: String, _ quire: Database) throws {
    guard try quire.extensions().contains(where: { $0.kind == ExtensionValues.kind }) else { return }
    try registerValues(quire)
    try quire.write { tx in
      try tx.access(to: ExtensionValues()).store.removeValues(beginningWith: ExtensionValues.key(name, ""))
    }
  }
}
