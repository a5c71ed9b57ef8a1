// What is asked for by name, or all of it.

import ArgumentParser
import QuireDatabase

/// Those of `all` that have the name, or all if none was given. Ends the tool if there is none of the name.
func chosen<One>(
  _ all: [One], _ name: String?, _ what: String, _ file: String, by named: (One) -> String
) throws
  -> [One]
{
  guard let name else { return all }
  let found = all.filter { named($0).utf8.elementsEqual(name.utf8) }
  if found.isEmpty {
    let there = all.isEmpty ? "it has none" : "it has \(all.map { shown(named($0)) }.joined(separator: ", "))"
    complain("there is no \(what) “\(shown(name))” in \(file): \(there).")
    throw ExitCode.failure
  }
  return found
}

/// How an extension is, where that is not ready.
func shown(_ state: ExtensionStatus.State) -> String {
  switch state {
  case .ready: ""
  case .building: ", being built"
  case .stale: ", out of date: built anew when registered"
  }
}

/// A row by its collection and key, as JSON.
func rowRecord(_ row: RowKey) -> RowValue { ["collection": .text(row.collection), "key": .text(row.key)] }

/// The name of a state, as JSON has it.
func name(_ state: ExtensionStatus.State) -> RowValue {
  switch state {
  case .ready: "ready"
  case .building: "being built"
  case .stale: "out of date"
  }
}
