// Edges that have gone, until their rules are applied.

/// An edge that has gone from the trees.
///
///     0   1 if the source has gone, plus 2 if the destination has
///     1   the rules
///     2   the domain: 0 derived, 1 by hand
///     3   the number of the name (4), the source (8), the destination, as in the keys of edges
struct DroppedEdge {
  let edge: StoredEdge
  let sourceGone: Bool
  let destinationGone: Bool

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(24)
    bytes.append((sourceGone ? 1 as UInt8 : 0) | (destinationGone ? 2 : 0))
    bytes.append(edge.rules.rawValue)
    bytes.append(edge.isDerived ? 0 : 1)
    bytes.appendName(edge.name)
    bytes.appendRow(edge.source)
    bytes.appendEnd(edge.destination)
    return bytes
  }

  init(edge: StoredEdge, sourceGone: Bool, destinationGone: Bool) {
    self.edge = edge
    self.sourceGone = sourceGone
    self.destinationGone = destinationGone
  }

  /// Reads what `bytes` wrote; nil if they are something else.
  init?(_ bytes: [UInt8]) {
    var reader = EdgeKeyReader(bytes: bytes)
    guard let flags = reader.byte(), flags <= 3, let rules = reader.byte(), rules < 64, let domain = reader.byte(),
      domain <= 1, let name = reader.name(), let source = reader.row(), let end = reader.end(), reader.isAtEnd
    else { return nil }
    self.init(
      edge: StoredEdge(
        name: name, source: source, destination: end, isDerived: domain == 0, rules: EdgeRules(rawValue: rules)),
      sourceGone: flags & 1 != 0, destinationGone: flags & 2 != 0)
  }
}
