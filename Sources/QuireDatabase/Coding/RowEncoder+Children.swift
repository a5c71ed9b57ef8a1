// Encoders for what may be written to at any later time: nested containers, and values of superclasses.

/// A container inside a record: where the record begins, and the key.
struct ContainerPlace: Hashable {
  let recordStart: Int
  let key: ByteString
}

extension RowEncoder {
  /// From so many children on containers are looked up, and not looked for.
  private static let listedCount = 8

  /// The encoder that stands for a container inside the innermost record: the one that does already, if a container was
  /// asked for under the same key before, whose fields or elements then follow those of before. O(1).
  func child<Key: CodingKey>(for key: Key, _ write: () -> PathStep) -> RowEncoder {
    let place = unsafe ContainerPlace(recordStart: start, key: ByteString(key.stringValue))
    if let known = findContainer(place) { return known }
    let new = child(write())
    new.containerPlace = place
    if !containers.isEmpty {
      containers[place] = new
    } else if unsafe pending.count > Self.listedCount {
      for (_, child) in unsafe pending {
        if let place = child.containerPlace { containers[place] = child }
      }
    }
    return new
  }

  private func findContainer(_ place: ContainerPlace) -> RowEncoder? {
    if !containers.isEmpty { return containers[place] }
    for (offset, child) in unsafe pending.reversed() {
      guard unsafe offset > start else { break }
      if child.containerPlace == place { return child }
    }
    return nil
  }

  /// An encoder for a value whose bytes will be put where the buffer now ends.
  func child(_ step: PathStep) -> RowEncoder {
    if unsafe ancestorDepth &+ depth >= Limits.codingDepth { unsafe excess = .depth }
    // Encoding that only goes from child to child cannot be given a larger stack.
    if unsafe excess == nil && room.isGone { unsafe excess = .stack }
    let child = spares.popLast() ?? RowEncoder(names, isChild: true)
    unsafe (child.room, child.largeByteCount, child.excess) = (room, largeByteCount, excess)
    (child.parent, child.parentDepth, child.ancestorDepth) = unsafe (self, depth, ancestorDepth + depth)
    if unsafe child.path.isEmpty { unsafe child.path.append(step) } else { unsafe child.path[0] = step }
    unsafe child.depth = 1
    unsafe pending.append((buffer.count, child))
    return child
  }

  // MARK: Ending

  /// Puts the bytes of children where they belong.
  func insertPending(from first: Int) throws {
    guard unsafe room.isEnough else { return try withRoom { try insertPendingHere(from: first) } }
    try insertPendingHere(from: first)
  }

  private func insertPendingHere(from first: Int) throws {
    var byteCount = 0
    for index in unsafe first..<pending.count {
      let child = unsafe pending[index].child
      try child.close(pendingFrom: 0)
      unsafe byteCount += child.buffer.count
    }
    var index = unsafe pending.count
    unsafe buffer.insert(byteCount) {
      guard index > first else { return nil }
      index -= 1
      return unsafe (pending[index].offset, pending[index].child.buffer.bytes)
    }
    dropPendingHere(from: first)
  }

  /// Gives up on children, and on what they have been told.
  func dropPending(from first: Int) {
    guard unsafe pending.count > first else { return }
    // There is the reserve, if there is nothing else.
    do { try withRoom { dropPendingHere(from: first) } } catch { dropPendingHere(from: first) }
  }

  private func dropPendingHere(from first: Int) {
    while unsafe pending.count > first { unsafe reclaim(pending.removeLast().child) }
  }

  /// Keeps `child` for the next value that needs one, unless somebody else has kept it.
  private func reclaim(_ child: consuming RowEncoder) {
    var child = child
    if let place = child.containerPlace {
      if !containers.isEmpty { containers[place] = nil }
      child.containerPlace = nil
    }
    child.recycle()
    child.parent = nil
    guard isKnownUniquelyReferenced(&child), spares.count < 8 else { return child.close() }
    spares.append(child)
  }
}
