// How the operations of a history are told to people.

extension HistoryOperation {
  /// A line for each operation, with the transactions and savepoints that they are in.
  static func describe(_ operations: [HistoryOperation], _ test: CrashTest) -> [String] {
    var lines: [String] = []
    var last: Scope?
    for operation in operations {
      let scope = operation.scope
      if let scope, scope.transaction != last?.transaction {
        lines.append("transaction\(scope.isUndone ? ", which is rolled back" : ""):")
      }
      if let scope, let savepoint = scope.savepoint,
        scope.transaction != last?.transaction || savepoint != last?.savepoint
      {
        lines.append("  savepoint\(scope.isSavepointUndone ? ", which is undone" : ""):")
      }
      let indentation = scope.map { $0.savepoint == nil ? "  " : "    " } ?? ""
      lines.append(indentation + operation.describe(test))
      last = scope
    }
    return lines
  }

  private func describe(_ test: CrashTest) -> String {
    func row(_ place: Int, _ key: String) -> String { "\(test.collections[place].name)/\(key)" }
    func made(_ place: Int, _ seed: UInt64) -> String { test.collections[place].describe(seed) }
    func name(_ place: Int) -> String { "“\(test.extensions[place].name)”" }
    func version(_ place: Int, _ version: Int) -> String {
      test.extensions[place].versionCount == 1 ? name(place) : "\(name(place)), version number \(version)"
    }
    switch action {
    case .set(let place, let key, let seed): return "set \(row(place, key)) to \(made(place, seed))"
    case .replaceObject(let place, let key, let seed):
      return "replace the object of \(row(place, key)) by that of \(made(place, seed))"
    case .replaceMetadata(let place, let key, let seed):
      return "replace the metadata of \(row(place, key)) by those of \(made(place, seed))"
    case .touch(let place, let key): return "touch \(row(place, key))"
    case .remove(let place, let keys):
      return "remove \(keys.map { row(place, $0) }.joined(separator: ", "))\(keys.count > 1 ? " in one call" : "")"
    case .clear(let place): return "remove all rows of \(test.collections[place].name)"
    case .clearAll: return "remove all rows of all collections"
    case .rename(let place, let keys, let seed):
      let collection = test.collections[place]
      let rows = keys.enumerated().map { "\($1): \(made(place, seed &+ UInt64($0)))" }.joined(separator: ", ")
      return "open with “\(collection.olderName)” renamed to “\(collection.name)”: \(rows)"
    case .register(let place, let number, let interleaving, let stopAfter):
      let meanwhile = interleaving > 0 ? ", with up to \(interleaving) of the next transactions between its steps" : ""
      let end = stopAfter.map { ", and stop that after step \($0 + 1)" } ?? ""
      return "register \(version(place, number))\(meanwhile)\(end)"
    case .unregister(let place): return "unregister \(name(place))"
    case .reopen(let isBare): return "close and open\(isBare ? ", and register nothing" : "")"
    case .upgrade(let place, let number): return "close, open, and register \(version(place, number))"
    case .checkpoint: return "checkpoint"
    case .flush: return "flush"
    case .beginCheckpoint: return "begin a checkpoint"
    case .stepCheckpoint(let count): return "\(count) steps of the checkpoint that runs"
    case .holdSnapshot: return "hold the newest snapshot"
    case .crash(_, let isKilled, let isBare):
      return "\(isKilled ? "death of the process" : "power cut"), then open\(isBare ? ", and register nothing" : "")"
    case .cutPower(let cut):
      let end = cut.isKill ? "end the process" : "cut the power"
      return "\(end) before change \(cut.change) to the disk in what is next"
    case .refuse(let call, let count, let refusal):
      return "have the disk refuse call \(count) of the kind “\(call)” in what is next: \(refusal)"
    }
  }
}
