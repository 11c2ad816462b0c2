//! Lenient JSON deserialization: a value of the wrong type counts as missing.
//!
//! Derived `Deserialize` rejects a whole line when one key has an unexpected type or appears twice. With [`Lenient`]
//! only that key is lost. If a key appears twice, the last one wins.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize as _, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A string; `None` if the value is anything else.
pub(super) type Text<'a> = Option<Cow<'a, str>>;

/// A value as JSON text, not decoded; `None` if it is `null`.
pub(super) type Raw<'a> = Option<&'a str>;

/// A type that can be read from any JSON value. Kinds of values that it does not override give the default.
pub(super) trait Lenient<'de>: Default {
    /// Converts `true` or `false`.
    fn from_bool(_: bool) -> Self {
        Self::default()
    }

    /// Converts a non-negative integer.
    fn from_count(_: u64) -> Self {
        Self::default()
    }

    /// Converts a string, which is borrowed unless it has escapes.
    fn from_text(_: Cow<'de, str>) -> Self {
        Self::default()
    }

    /// Converts an array.
    fn from_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    /// Converts an object.
    fn from_object<A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    /// Reads the next value.
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyValue::new())
    }
}

impl Lenient<'_> for bool {
    fn from_bool(flag: bool) -> Self {
        flag
    }
}

impl Lenient<'_> for u64 {
    fn from_count(count: u64) -> Self {
        count
    }
}

impl<'de> Lenient<'de> for Text<'de> {
    fn from_text(text: Cow<'de, str>) -> Self {
        Some(text)
    }
}

impl<'de> Lenient<'de> for Raw<'de> {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(from)?.get();
        Ok((raw != "null").then_some(raw))
    }
}

/// A `serde` visitor that passes a value of any type to the matching function of `T`.
pub(super) struct AnyValue<T>(PhantomData<T>);

impl<T> AnyValue<T> {
    pub(super) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<'de, T: Lenient<'de>> DeserializeSeed<'de> for AnyValue<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<T, D::Error> {
        T::read(from)
    }
}

impl<'de, T: Lenient<'de>> Visitor<'de> for AnyValue<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_bool<E>(self, flag: bool) -> Result<T, E> {
        Ok(T::from_bool(flag))
    }

    fn visit_u64<E>(self, count: u64) -> Result<T, E> {
        Ok(T::from_count(count))
    }

    fn visit_i64<E>(self, _: i64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
        Ok(T::from_text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::from_text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::from_list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<T, A::Error> {
        T::from_object(object)
    }
}

/// Declares a struct by the keys of its JSON object. Functions after the keys override how other values are read.
macro_rules! object {
    ($(#[$doc:meta])* $name:ident { $($key:literal => $field:ident : $ty:ty),* $(,)? } $($others:tt)*) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub(in crate::transcript) struct $name<'a> {
            $(pub(in crate::transcript) $field: $ty,)*
            /// The values of unknown keys, as JSON text.
            pub(in crate::transcript) extra: Vec<&'a str>,
        }

        impl<'a> $crate::transcript::lenient::Lenient<'a> for $name<'a> {
            fn from_object<A: serde::de::MapAccess<'a>>(mut map: A) -> Result<Self, A::Error> {
                let mut object = Self::default();
                while let Some(key) = map.next_key_seed($crate::transcript::lenient::AnyValue::<$crate::transcript::lenient::Text<'a>>::new())? {
                    match key.as_deref().unwrap_or_default() {
                        $($key => object.$field = map.next_value_seed($crate::transcript::lenient::AnyValue::new())?,)*
                        key if $crate::transcript::ignored_keys::is_known(key) => { map.next_value::<serde::de::IgnoredAny>()?; }
                        _ => object.extra.extend(map.next_value_seed($crate::transcript::lenient::AnyValue::<$crate::transcript::lenient::Raw<'a>>::new())?),
                    }
                }
                Ok(object)
            }

            $($others)*
        }

        impl<'a> serde::de::Deserialize<'a> for $name<'a> {
            fn deserialize<D: serde::de::Deserializer<'a>>(from: D) -> Result<Self, D::Error> {
                Self::read(from)
            }
        }
    };
}

pub(super) use object;
