// Whether the trees of edges agree.

internal import QuireDatabase

extension EdgeTrees {
  /// Throws unless all that is said of the trees holds.
  ///
  /// - Parameter isAwaited: whether a row that does not exist may stand for one to come.
  func checkInvariants(_ isAwaited: (Int64) -> Bool) throws {
    let count = try byName.count
    for order in EdgeOrder.allCases {
      guard try self[order].count == count else { throw broken("the trees hold different numbers of edges") }
    }
    var rows: Set<Int64> = []
    var numbers: Set<UInt32> = []
    let cursor = try byName.cursor()
    while try cursor.next() {
      guard let entry = try cursor.entry else { break }
      let edge = try edge(.byName, entry)
      for (tree, key) in [(bySource, edge.sourceKey), (byDestination, edge.destinationKey)] {
        guard try tree.value(for: key) == entry.value else { throw broken("an edge stands in some trees only") }
      }
      try checkRules(edge)
      numbers.insert(edge.name)
      rows.insert(edge.source)
      if case .row(let row) = edge.destination { rows.insert(row) }
    }
    try checkNames(of: numbers)
    for row in rows {
      if try store.readTransaction.key(of: RowID(row)) == nil, !isAwaited(row) {
        throw broken("an edge has lost a row")
      }
    }
  }

  /// Throws unless what a transaction notes until it has settled is gone: of a relationship that has been built.
  func checkSettled() throws {
    let byBytes = try ["wishes", "touched", "touchedByDestination", "removedIDs"].map {
      try store.tree($0, of: [UInt8].self).count
    }
    let byNumber = try ["dropped", "removedKeys", "unfinished"].map { try store.tree($0, of: RowID.self).count }
    guard (byBytes + byNumber).allSatisfy({ $0 == 0 }) else { throw broken("a commit left what it had to settle") }
  }

  private func checkNames(of numbers: Set<UInt32>) throws {
    guard try names.count == nameTexts.count else { throw broken("names and numbers do not belong to each other") }
    var named: Set<UInt32> = []
    let cursor = try names.cursor()
    while try cursor.next() {
      guard let bytes = cursor.key, let text = String(validating: bytes, as: UTF8.self),
        let number = try number(of: text), number > 0, ByteString(try name(of: number)) == ByteString(text)
      else { throw broken("a name has another number than the number says") }
      named.insert(number)
    }
    guard numbers.isSubset(of: named) else { throw broken("the name of an edge has no number") }
  }

  private func checkRules(_ edge: StoredEdge) throws {
    let isFile = if case .file = edge.destination { true } else { false }
    let rules = edge.rules
    if rules.isSuperset(of: [.deleteSourceIfDestinationDeleted, .deleteSourceIfAllDestinationsDeleted])
      || rules.isSuperset(of: [.deleteDestinationIfSourceDeleted, .deleteDestinationIfAllSourcesDeleted])
      || isFile && !rules.isSubset(of: .keeping)
    {
      throw broken("an edge has rules that do not go together")
    }
  }

  private func broken(_ what: String) -> DatabaseError {
    DatabaseError(
      .damagedRow, "In the relationship “\(store.name)” \(what). Unregister the relationship, and register it again.")
  }
}
