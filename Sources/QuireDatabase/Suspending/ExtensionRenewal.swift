// The extensions of a database whose file somebody else has written while it was suspended.

internal import QuireStorage

/// An extension that was registered before a suspension.
struct RenewedExtension {
  let value: any DatabaseExtension
  /// Whether it is registered again already, as the other process has kept it up.
  let isReady: Bool
}

/// Registers the extensions of before again.
struct ExtensionRenewal {
  let core: DatabaseCore

  /// Registers, without a transaction that writes, those extensions whose stored trees have all rows, as at an opening
  /// at which nothing has to be built. Trees in memory are gone. By the thread that resumes.
  ///
  /// - Parameter csn: the newest commit.
  /// - Returns: all of them, in their order.
  func renew(csn: CSN) -> [RenewedExtension] {
    let former = core.extensions.beginAnew(csn: csn)?.list.filter(\.isReady) ?? []
    var forest = MemoryForest()
    // What was made of the contents of before is of another life.
    for one in former { forest.beginLife(of: one.id) }
    core.memory.beginAnew(forest, csn: csn)
    if former.isEmpty { return [] }
    // What cannot be read is met again, and told, when the extension is registered.
    let ready = (try? core.read(nil) { tx in try former.map { one in try renewed(one, tx.state) } }) ?? []
    var list: [RegisteredExtension] = []
    let known = former.enumerated().map { index, one -> RenewedExtension in
      let areThere = one.value.dependencies.allSatisfy { name in list.contains { $0.name.hasSameBytes(as: name) } }
      guard areThere, ready.indices.contains(index), let renewed = ready[index] else {
        return RenewedExtension(value: one.value, isReady: false)
      }
      list.append(renewed)
      return RenewedExtension(value: one.value, isReady: true)
    }
    core.extensions.apply(RegisteredExtensions(list))
    return known
  }

  /// An extension, if what is stored of it can be read as it is.
  private func renewed(_ one: RegisteredExtension, _ state: TransactionState) throws -> RegisteredExtension? {
    guard one.isPersistent, let record = try state.extensionCatalog.storedRecord(one.name)?.shown(by: core.aliases),
      record.state == .ready, record.canGoOn(as: one.value)
    else { return nil }
    return RegisteredExtension(one.value, record.id, .ready)
  }

  /// Tells the extensions that are there, and registers the others, in the order of before.
  ///
  /// - Throws: the first error, when all have had their turn.
  func register(_ known: [RenewedExtension]) throws {
    var failure: (any Error)?
    for one in known {
      do {
        if one.isReady {
          try one.value.didRegister(in: Database(core))
        } else {
          try Registration(core, one.value) { _ in }.runAsSpan(.current)
        }
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
  }
}
