// Which edges may be stored.

public import QuireDatabase

extension DatabaseError.Code {
  /// An edge cannot be stored as it is: its rules exclude each other, or an end is missing or too long.
  public static let invalidEdge = DatabaseError.Code("invalidEdge")
  /// An edge has an end that does not exist when the transaction ends, and its relationship refuses that.
  public static let danglingEdge = DatabaseError.Code("danglingEdge")
}

/// The limits of relationships.
enum EdgeLimits {
  /// The longest name of an edge, in bytes of UTF-8.
  static let nameByteCount = 512
  /// The longest path of a file, in bytes of UTF-8: keys of trees hold it.
  static let pathByteCount = 960
  /// How many edges are handled at a time where there may be any number.
  static let batchCount = 1024
  /// How many changes of edges, and how many edges that have gone, a transaction keeps in memory: some 20 MiB and
  /// 15 MiB at the most. A file counts once more for each 64 bytes of its path.
  static let notedCount = 1 << 17
  /// How many files of a list are looked at in one transaction.
  static let fileBatchCount = 64
  /// How many rows rules delete that were stored by hooks, each because of the deletion before.
  static let returnCount = 64
}

extension Edge {
  /// Throws unless the edge may be stored.
  ///
  /// - Parameter mayBeToTell: whether a rule may say that the rows of a collection are to be told of something.
  func check(_ mayBeToTell: (String) -> Bool) throws {
    guard let source else { throw invalid("says where it leads to, but not where it begins: give a source") }
    if name.utf8.count > EdgeLimits.nameByteCount {
      throw invalid("has a name of more than \(EdgeLimits.nameByteCount) bytes")
    }
    try checkRules()
    try checkLength(source)
    switch destination {
    case .row(let key): try checkLength(key)
    case .file(let path):
      guard !path.isEmpty, path.utf8.count <= EdgeLimits.pathByteCount, !path.utf8.contains(0) else {
        throw invalid("leads to no file: give a path of 1 to \(EdgeLimits.pathByteCount) bytes without a zero")
      }
    }
    // A rule that could never do anything is a mistake that nobody would notice.
    if rules.contains(.notifyIfDestinationDeleted), !mayBeToTell(source.collection) {
      throw invalid("is to tell rows of “\(source.collection)”, and nothing says how: use `notifying`")
    }
    if rules.contains(.notifyIfSourceDeleted), case .row(let key) = destination, !mayBeToTell(key.collection) {
      throw invalid("is to tell rows of “\(key.collection)”, and nothing says how: use `notifying`")
    }
  }

  private func checkRules() throws {
    if rules.rawValue >= 64 { throw invalid("has rules that this version does not know") }
    if rules.isSuperset(of: [.deleteSourceIfDestinationDeleted, .deleteSourceIfAllDestinationsDeleted]) {
      throw invalid("deletes its source with one destination and with the last one: choose")
    }
    if rules.isSuperset(of: [.deleteDestinationIfSourceDeleted, .deleteDestinationIfAllSourcesDeleted]) {
      throw invalid("deletes its destination with one source and with the last one: choose")
    }
    guard case .file = destination, !rules.isSubset(of: .keeping) else { return }
    throw invalid("leads to a file, which nobody watches or tells: only rules that delete the destination have a use")
  }

  private func checkLength(_ row: RowKey) throws {
    guard row.collection.utf8.count > Limits.collectionNameByteCount || row.key.utf8.count > Limits.rowKeyByteCount
    else { return }
    throw invalid("has an end whose collection or key is longer than any row's")
  }

  func invalid(_ what: String) -> DatabaseError {
    DatabaseError(
      .invalidEdge, "The edge \(self) \(what). Nothing was stored.", collection: source?.collection, key: source?.key)
  }
}
