// Controls that edit a row.

#if canImport(SwiftUI)
  public import SwiftUI

  extension LiveRow {
    /// A binding of a field of the object: it shows the field with the edits that are not written yet, and sets it by
    /// an edit. Where there is no object it shows `fallback`.
    public func binding<Field: Sendable>(
      _ path: any WritableKeyPath<Object, Field> & Sendable, default fallback: Field
    ) -> Binding<Field> {
      Binding(
        get: { MainActor.assumeIsolated { self[path, default: fallback] } },
        set: { field in MainActor.assumeIsolated { self[path, default: fallback] = field } })
    }
  }
#endif
