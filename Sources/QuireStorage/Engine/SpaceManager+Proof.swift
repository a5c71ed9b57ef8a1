// When the free map of the opened file is proven, and on which thread.

extension SpaceManager {
  /// Called by the first transaction that needs places: proves the map of a small file here and now, and has a thread
  /// prove that of a larger one while transactions go on at the end of the file.
  ///
  /// - Throws: `damagedPage` if the map is refuted. Nothing has been written.
  func beginProof(_ permit: borrowing WriterPermit) throws(StorageError) {
    if proof.isOver { return }
    if let refusal = proof.refusal { throw refusal }
    let limit = environment.provenAtOncePageCount
    let isStepped = environment.scheduling == .stepped
    if limit > 0, isStepped || proof.pageCount <= UInt64(limit) {
      _ = try provePlaces(permit)
    } else if !isStepped, proof.takeRequest() {
      // The walk does not keep the engine alive: its owner need not wait for the end. Without a thread, the first
      // transaction that cannot do without places walks.
      do throws(StorageError) {
        try threads.runLongWork { [weak self] in
          while let space = self, space.walkOn() {}
        }
      } catch {}
    }
  }

  /// Does a piece of the walk on a thread of the engine's own; false if that was the last one.
  private func walkOn() -> Bool {
    guard !threads.mustStop, !openFlag.isForked else { return false }
    do throws(StorageError) { return try proof.step() } catch {
      if let refusal = proof.refusal { queue.fail(refusal) }
      return false
    }
  }

  /// Walks to the end, for a caller that cannot do without places.
  ///
  /// - Returns: whether places have become available. False if a page cannot be read.
  /// - Throws: `damagedPage` if the map is refuted.
  func provePlaces(_ permit: borrowing WriterPermit) throws(StorageError) -> Bool {
    if proof.isOver { return false }
    do throws(StorageError) { while try proof.step() {} } catch {
      if let refusal = proof.refusal { throw refusal }
      return false
    }
    return true
  }
}
