// Taking back what was given up: by a commit by checkpoint, or a checkpoint, that has failed.

internal import Synchronization

extension PageAllocator {
  /// Takes back what `supersede` was told of the commit `csn`, which has failed. One pass over what waits for the next
  /// checkpoint, and over what the failed one has freed.
  package func restore(_ csn: UInt64, _ items: some Sequence<(number: PageNumber, count: Int)>) {
    state.withLock { state in
      var restored = PageBits()
      for item in items {
        for place in Self.places(item.number, item.count) {
          restored[place] = true
          state.setHeld(place, false)
          state.setSuperseded(place, false)
          setMap(&state, place, .used)
        }
      }
      state.superseded.removeAll { place in
        guard place.csn == csn else { return false }
        state.supersededCount -= place.count
        return true
      }
      state.freedNow.removeAll { restored[$0] }
      publish(state)
    }
  }

  /// Takes `free` back: these pages stay in use after all, as the checkpoint that replaced them failed.
  package func keep(_ numbers: some Sequence<PageNumber>) {
    state.withLock { state in
      var kept = PageBits()
      for number in numbers {
        kept[number.rawValue] = true
        setMap(&state, number.rawValue, .used)
      }
      state.freedNow.removeAll { kept[$0] }
    }
  }
}
