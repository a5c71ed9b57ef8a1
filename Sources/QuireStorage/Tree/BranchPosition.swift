// Going from one branch above leaves to the next, by the separators between them.

/// Where a walk over the branches of a tree goes on.
///
/// Keys and not ranks: counts of a forged file say whatever they like, and a walk by them may take as many steps as
/// they say. Every step of a walk by keys leads to a separator above the one before, so that it takes at most as many
/// steps as the file has separators. Integer keys are eight bytes, in their ordered form and big-endian.
package enum BranchPosition: Equatable, Sendable {
  /// With the first branch.
  case start
  /// With the branch that this key belongs to.
  case key([UInt8])
  /// Nowhere: there is no other branch.
  case end

  /// The key; nil for the first branch.
  var key: [UInt8]? { if case .key(let key) = self { key } else { nil } }
}

extension TreeEditor {
  /// The child of a branch that a key belongs to; the first one for nil.
  func childIndex(_ key: [UInt8]?, in page: PageBytes, _ kind: KeyKind) -> Int {
    guard let key else { return 0 }
    return key.withUnsafeBytes { bytes in
      kind == .int64
        ? page.childIndex(
          SearchKey(ordered: KeyOrder.longHead(bytes.baseAddress ?? UnsafeRawPointer(scratch), key.count)))
        : page.childIndex(SearchKey(bytes))
    }
  }

  /// The separator behind the page at the end of `path`, or nil at the end of the tree.
  ///
  /// - Parameter key: what the walk that has come here was looking for.
  /// - Throws: `damagedPage` unless the separator is above `key`.
  func keyBehindPath(_ key: [UInt8]?, in root: TreeRoot) throws(StorageError) -> [UInt8]? {
    guard let bound = path.upperBound else { return nil }
    return try ascending(from: key, to: bound, in: root)
  }

  /// The bytes of a separator that a walk from `key` on has come to.
  func ascending(from key: [UInt8]?, to separator: SplitKey, in root: TreeRoot) throws(StorageError) -> [UInt8] {
    let next =
      root.keyKind == .bytes ? separator.bytes : withUnsafeBytes(of: separator.integer.bigEndian) { [UInt8]($0) }
    guard (key ?? []).lexicographicallyPrecedes(next) else {
      throw store.damaged(path[path.depth - 1].reference, "a separator above it is not above the one before")
    }
    return next
  }
}
