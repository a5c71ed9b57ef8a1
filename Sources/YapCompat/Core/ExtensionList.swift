// The extensions that were registered through one `YapDatabase`.

internal import Quire

/// Extensions by their names, in the order of registration.
///
/// Invariant: `names` has the names of `extensions`, each once.
final class ExtensionList: Sendable {
  /// An extension, and the line that has registered it.
  struct Registered {
    let value: YapDatabaseExtension
    let site: CallSite
  }

  private struct State {
    var extensions: [ByteName: Registered] = [:]
    var names: [String] = []
  }

  private let state = Guarded(State())

  subscript(name: String) -> YapDatabaseExtension? { registered(name)?.value }

  /// What is registered under a name.
  func registered(_ name: String) -> Registered? { state.withLock { $0.extensions[ByteName(name)] } }

  /// The names in the order of registration.
  var names: [String] { state.withLock { $0.names } }

  /// All of them.
  var all: [String: YapDatabaseExtension] {
    state.withLock { state in
      Dictionary(state.extensions.map { ($0.key.name, $0.value.value) }, uniquingKeysWith: { first, _ in first })
    }
  }

  func add(_ value: YapDatabaseExtension, _ name: String, at site: CallSite) {
    state.withLock { state in
      let isNew = state.extensions.updateValue(Registered(value: value, site: site), forKey: ByteName(name)) == nil
      if isNew { state.names.append(name) }
      assert(state.names.count == state.extensions.count, "an extension has no name, or two")
    }
    value.setRegisteredName(name)
  }

  func remove(_ name: String) {
    let removed = state.withLock { state in
      state.names.removeAll { $0.utf8.elementsEqual(name.utf8) }
      let removed = state.extensions.removeValue(forKey: ByteName(name))
      assert(state.names.count == state.extensions.count, "an extension has no name, or two")
      return removed
    }
    removed?.value.setRegisteredName(nil)
  }
}
