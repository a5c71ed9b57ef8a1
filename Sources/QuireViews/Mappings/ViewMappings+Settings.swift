// Settings of mappings, written as `mappings.window["a"] = …`.

internal import QuireDatabase

extension ViewMappings {
  /// The windows by group: nil shows all rows. Read back, a flexible window has its present length and offset.
  public var window: Windows {
    get { Windows(mappings: self) }
    set { self = newValue.mappings }
  }

  /// Whether the rows of a group are shown last to first.
  public var isReversed: Reversals {
    get { Reversals(mappings: self) }
    set { self = newValue.mappings }
  }

  /// Whether a group has no section while it shows no row ("dynamic section"); otherwise it has an empty one.
  public var hidesEmpty: HiddenSections {
    get { HiddenSections(mappings: self) }
    set { self = newValue.mappings }
  }

  /// Which other rows the drawing of a row uses, by group: −1 is the row above, 1 the one below.
  ///
  /// A row whose neighbour at one of these offsets changes is reported with ``ViewAspects/dependency``. The neighbours
  /// are those in the group, also where a window hides them. A diff costs the sum of the offsets for each changed row.
  public var neighbourOffsets: NeighbourOffsets {
    get { NeighbourOffsets(mappings: self) }
    set { self = newValue.mappings }
  }

  /// Access to windows by group; see ``ViewMappings/window``.
  public struct Windows: Sendable {
    fileprivate var mappings: ViewMappings

    /// The window of a group: nil shows all rows. Setting it starts it anew. One for a group that is not there yet
    /// waits.
    public subscript(group: String) -> ViewWindow? {
      get { mappings.settings.window(of: ByteString(group)) }
      set {
        mappings.settings.setWindow(newValue, of: ByteString(group))
        mappings.resettle(group)
      }
    }
  }

  /// Access to reversals by group; see ``ViewMappings/isReversed``.
  public struct Reversals: Sendable {
    fileprivate var mappings: ViewMappings

    /// Whether the group is shown last to first.
    public subscript(group: String) -> Bool {
      get { mappings.settings.reversed.contains(ByteString(group)) }
      set { mappings.settings.setReversed(newValue, of: ByteString(group)) }
    }
  }

  /// Access to hiding by group; see ``ViewMappings/hidesEmpty``.
  public struct HiddenSections: Sendable {
    fileprivate var mappings: ViewMappings

    /// Whether the group's section is hidden while it is empty.
    public subscript(group: String) -> Bool {
      get { mappings.settings.hidesEmpty(of: ByteString(group)) }
      set {
        mappings.settings.setHidesEmpty(newValue, of: ByteString(group))
        mappings.layOut()
      }
    }

    /// The same for all groups, also those to come; setting it drops what was said of single ones.
    public var all: Bool {
      get { mappings.settings.hidesAllEmpty }
      set {
        mappings.settings.setHidesAllEmpty(newValue)
        mappings.layOut()
      }
    }
  }

  /// Access to neighbour offsets by group; see ``ViewMappings/neighbourOffsets``.
  public struct NeighbourOffsets: Sendable {
    fileprivate var mappings: ViewMappings

    /// The offsets of a group. Zero is left out.
    public subscript(group: String) -> Set<Int> {
      get { mappings.settings.neighbourOffsets(of: ByteString(group)) }
      set { mappings.settings.setNeighbourOffsets(newValue, of: ByteString(group)) }
    }
  }
}
